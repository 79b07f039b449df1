#include "passes/pipelines.h"

#include <utility>

namespace ampc {

Pipeline StripPipeline(bool widen_unmarked) {
  PassOptions options;
  if (!widen_unmarked) options["unmarked"] = "keep";
  return Pipeline().Add("remove-amp-cast", std::move(options));
}

Pipeline PlanPipeline(const PlanOptions& options) {
  Pipeline p;
  p.Add("infer-types");                                                          // dims that an importer left open help everything below
  p.Add("lower-onnx", {{"quantized", options.quantized}});                       // what follows knows native ops
  if (options.fuse && options.quantized == "products") p.Add("fuse-quantized");  // what is folded next is no integer any more
  p.Add("fold-casts");                                                           // first: fewer values for the rest
  if (options.fuse) {
    p.Add("sink-squeeze");  // it reshapes constants
    p.Add("drop-dead");     // what it left behind reads values that fusion looks at
  }
  p.Add("fold-constants");  // shape arithmetic becomes literals, which fusion looks for
  p.Add("drop-identity");   // before fusion: a dropout in between hides what fits
  p.Add("dedup");           // after folding, because equal literals make equal ops
  if (options.fuse) {
    p.Add("permute-images");                                   // before layouts are chosen
    if (options.products) p.Add("conv-transpose-to-product");  // before bias and activation are looked for
    p.Add("fuse-activation");                                  // first: a convolution or product takes an activation in that is one op
    p.Add("fuse-layer-norm");
    p.Add("fuse-group-norm");
    if (options.attention) p.Add("fuse-attention");  // while the mask is an addition of its own
    p.Add("drop-dead");                              // what those took apart still reads the values that the next ones look at
    p.Add("fuse-conv-bn", {{"excess", options.excess ? "true" : "false"}});  // before the other two: it gives the convolution a bias
    p.Add("fuse-conv-affine");                                               // before the activation closes the chain
    if (options.products) p.Add("sink-resize");                              // before the sums that it makes are fused
    p.Add("fuse-bias-act");
    p.Add("fuse-scale");  // what no convolution took
  }
  if (options.linear) p.Add("fuse-linear");  // before the next: it takes bias and activation
  if (options.elementwise)
    p.Add("fuse-elementwise", {{"excess", options.excess ? "true" : "false"}});  // what is left between products and convolutions
  p.Add("drop-dead");                                                            // everything above leaves unread values
  if (options.bucket_gradients) p.Add("bucket-gradients");                       // nothing moves gradients after this
  if (options.group_updates) {
    p.Add("unscale-in-update");  // nothing looks at checks and updates after this
    p.Add("group-updates");      // last: what looks at update ops has done so
  }
  return p;
}

}  // namespace ampc
