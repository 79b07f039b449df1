#include <cmath>

#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// Min and Max replace the attributes.
absl::Status InferClip(InferContext& ctx) {
  for (const char* slot : {"Min", "Max"}) {
    if (!ctx.Has(slot)) continue;
    const TensorType& type = ctx.In(slot);
    if (type.has_rank && Differ(Product(type.dims), 1)) return Fail(ctx, 1, slot, " has ", Product(type.dims), " elements, needs 1");
  }
  const Op& op = ctx.op();
  if (!ctx.Has("Min") && !ctx.Has("Max") && op.GetFloat("min") > op.GetFloat("max")) {
    return Fail(ctx, 2, "min is ", op.GetFloat("min"), ", needs at most max, which is ", op.GetFloat("max"));
  }
  return InferSame(ctx);
}

// A bound that f16 rounds to 0 no longer keeps a divisor or logarithm away from 0.
AmpClass ClipClass(const Op& op) {
  for (const char* name : {"min", "max"}) {
    const double bound = std::abs(op.GetFloat(name));
    if (bound > 0 && bound <= 0x1p-25) return kDeny;
  }
  return kClear;
}

}  // namespace

OpDef ClipDef() {
  return OpDef("clip")
      .Doc("Out = min(max(X, min), max); the one-element tensors Min and Max replace the attributes.")
      .In("X")
      .OptIn("Min")
      .OptIn("Max")
      .Out("Out")
      .Required("min", 0.0f)
      .Use(AttrUse::kBounds)
      .Required("max", 0.0f)
      .Use(AttrUse::kBounds)
      .Infer(InferClip)
      .CostIs(PerResult<2>)
      .Amp(kClear, "selects between x and its bounds; denied for a bound of 2^-25 or less, which f16 rounds to 0")
      .AmpWhen(ClipClass)
      .GradientOp({"X Min Max", "Out", "X"})
      .Alias("onnx", "Clip")
      .Traits({OpTrait::kBounded, OpTrait::kSelection, OpTrait::kAdditive})
      .BoundsAre(&ClipBounds)
      .FusedStep();
}

}  // namespace ampc::ops
