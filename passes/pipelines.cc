#include "passes/pipelines.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace ampc {
namespace {

void AddFlag(PassOptions& options, const char* name, bool value) {
  if (value) options[name] = "true";
}
void AddList(PassOptions& options, const char* name, const std::vector<std::string>& values, const char* between = ",") {
  if (!values.empty()) options[name] = absl::StrJoin(values, between);
}

// A selector may ask for a guard region, which fp16-guard numbers.
bool NamesRegion(const ConvertOptions& o) {
  for (const std::vector<std::string>* selectors : {&o.include, &o.exclude}) {
    for (const std::string& selector : *selectors) {
      if (absl::StrContains(selector, "region:")) return true;
    }
  }
  return false;
}

PassOptions DecideText(const ConvertOptions& o) {
  PassOptions options = {{"level", o.level}, {"dtype", std::string(Name(o.dtype))}};
  if (o.mode != "own") options["mode"] = o.mode;
  AddFlag(options, "guard", o.guard);
  AddFlag(options, "promote", o.promote);
  AddFlag(options, "low-io", o.low_io);
  AddList(options, "keep-io", o.keep_io);
  AddList(options, "low-io-names", o.low_io_names);
  AddList(options, "white-list", o.white_list);
  AddList(options, "black-list", o.black_list);
  AddList(options, "black-vars", o.black_vars);
  if (!o.classes.empty()) options["classes"] = o.classes;
  AddList(options, "include", o.include, ";");
  AddList(options, "exclude", o.exclude, ";");
  return options;
}

PassOptions ProtectText(const ConvertOptions& o) {
  PassOptions options = {{"dtype", std::string(Name(o.dtype))}};
  if (o.on_tiny != "subnormal") options["on_tiny"] = o.on_tiny;
  return options;
}

PassOptions UpgradeText(const ConvertOptions& o) {
  PassOptions options = {{"dtype", std::string(Name(o.dtype))}};
  AddList(options, "black-list", o.black_list);
  AddList(options, "include", o.include, ";");
  AddList(options, "exclude", o.exclude, ";");
  return options;
}

}  // namespace

Pipeline ConvertPipeline(const ConvertOptions& o) {
  Pipeline p;
  if (o.level == "O0") return p;
  const bool own = o.mode == "own";
  p.Add("infer-types");                                                   // importers leave gaps, and a decision needs types
  if (o.guard || NamesRegion(o)) p.Add("fp16-guard");                     // before deciding: regions are marks
  if (own) p.Add("protect", ProtectText(o));                              // before deciding: its marks are obeyed
  if (own && o.dtype == DType::kBF16) p.Add("upgrade-onnx-opset", UpgradeText(o));  // before deciding: what an op may be says its version
  if (o.mode == "paddle-inference-2.6") p.Add("fold-constants", {{"shapes", "false"}});  // as that converter does in front
  p.Add("amp-decide", DecideText(o));
  p.Add("cast-model-to-fp16");                                            // casts naively, one per value and type
  p.Add("cast-parameters-to-fp16", {{"on_overflow", o.on_overflow}, {"on_tiny", o.on_tiny}});  // after the casts that it replaces
  p.Add("round-batch-norm");                                              // after the casts whose rounding it makes better
  p.Add("amp-verify");
  return p;
}

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
  p.Add("fold-constants");  // shape arithmetic becomes literals, which fusion looks for
  p.Add("drop-identity");   // before fusion: a dropout in between hides what fits
  p.Add("dedup");           // after folding, because equal literals make equal ops
  if (options.fuse) {
    p.Add("fuse-activation");   // first: a convolution or product takes an activation in that is one op
    p.Add("fuse-layer-norm");
    p.Add("drop-dead");         // what those two took apart still reads the values that the next ones look at
    p.Add("fuse-conv-bn");      // before the other two: it gives the convolution a bias
    p.Add("fuse-conv-affine");  // before the activation closes the chain
    p.Add("fuse-bias-act");
    p.Add("fuse-scale");        // what no convolution took
  }
  if (options.linear) p.Add("fuse-linear");  // before the next: it takes bias and activation
  if (options.elementwise) p.Add("fuse-elementwise");  // what is left between products and convolutions
  p.Add("drop-dead");       // everything above leaves unread values
  if (options.bucket_gradients) p.Add("bucket-gradients");  // nothing moves gradients after this
  if (options.group_updates) {
    p.Add("unscale-in-update");  // nothing looks at checks and updates after this
    p.Add("group-updates");      // last: what looks at update ops has done so
  }
  return p;
}

}  // namespace ampc
