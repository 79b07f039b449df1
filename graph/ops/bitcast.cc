#include "absl/strings/str_cat.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferBitcast(InferContext& ctx) {
  const DType from = ctx.In("X").dtype, to = ctx.op().GetDType("out_dtype");
  if (to == DType::kInvalid) return Fail(ctx, 1, "out_dtype names no type");
  if (from != DType::kInvalid && BitsOf(from) != BitsOf(to)) {
    return Fail(ctx, 2, "X is ", Name(from), " of ", BitsOf(from), " bits, needs ", BitsOf(to), " like ", Name(to));
  }
  ctx.Out("Out", ctx.In("X").WithDType(to));
  return absl::OkStatus();
}

}  // namespace

OpDef BitcastDef() {
  return OpDef("bitcast")
      .Doc("The bits of X, element by element, read as out_dtype, which has as many.")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .DTypeAttr("out_dtype", DType::kF32, false)
      .Infer(InferBitcast)
      .CostIs(MoveCost)
      .Amp(kNever, "the bits of another type are another number")
      .Gradient("none: the bits of a number have no derivative");
}

}  // namespace ampc::ops
