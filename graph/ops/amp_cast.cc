#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferAmpCast(InferContext& ctx) {
  const DType to = ctx.op().GetDType("dtype");
  if (!IsFloat(to)) return Fail(ctx, 1, "dtype is ", Name(to), ", needs a float type");
  const TensorType& x = ctx.In("X");
  ctx.Out("Out", IsFloat(x.dtype) ? x.WithDType(to) : x);
  return absl::OkStatus();
}

}  // namespace

OpDef AmpCastDef() {
  return OpDef("amp_cast")
      .Doc("X converted to 'dtype' where X is a float tensor; every other type passes unchanged.")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .Required("dtype", DType::kF32)
      .Infer(InferAmpCast)
      .CostIs(PerResult<1>)
      .Amp(kNever, "states a type itself; a useless one is folded later")
      .Gradient("amp_cast dtype=X.dtype")
      .Alias("mxnet", "amp_cast")
      .FusedStep();
}

}  // namespace ampc::ops
