#include <cmath>

#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferScale(InferContext& ctx) {
  if (ctx.Has("ScaleTensor") && ctx.In("ScaleTensor").has_rank) {
    const int64_t n = Product(ctx.In("ScaleTensor").dims);
    if (Differ(n, 1)) return Fail(ctx, 1, "ScaleTensor has ", n, " elements, needs 1");
  }
  return InferSame(ctx);
}

// Mask constants (-1e9) become infinite in f16, and tiny epsilons vanish.
AmpClass ScaleClass(const Op& op) {
  for (const char* name : {"scale", "bias"}) {
    const double v = std::abs(op.GetFloat(name));
    if (v > 65504 || (v > 0 && v <= 0x1p-25)) return kDeny;
  }
  return kInfer;
}

}  // namespace

OpDef ScaleDef() {
  return MayOverwrite(
             OpDef("scale")
                 .Doc("Out = scale * X + bias, or scale * (X + bias) without bias_after_scale; ScaleTensor replaces 'scale'.")
                 .In("X")
                 .OptIn("ScaleTensor", kAsIs)
                 .Out("Out")
                 .A("scale", 1.0f)
                 .Use(AttrUse::kScales)
                 .A("bias", 0.0f)
                 .Use(AttrUse::kAdds)
                 .A("bias_after_scale", true)
                 .Infer(InferScale)
                 .CostIs(PerResult<2>)
                 .Amp(kInfer,
                      "computed in fp32 with one rounding; denied for a scale or bias above 65504 or not above 2^-25, which f16 lacks")
                 .AmpWhen(ScaleClass)
                 .Gradient("scale scale"))
      .Traits({OpTrait::kAffine, OpTrait::kArithmetic})
      .FusedStep()
      .BoundsAre(&AffineBounds);
}

}  // namespace ampc::ops
