#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// f16 and bf16 together have no common low type: their widest is f32.
DType Wider(DType a, DType b) { return a == b || SizeOf(a) != SizeOf(b) ? (SizeOf(a) > SizeOf(b) ? a : b) : DType::kF32; }

// The first of two low types wins: either rounds the other.
DType Narrower(DType a, DType b) { return SizeOf(b) < SizeOf(a) ? b : a; }

absl::Status InferAmpMulticast(InferContext& ctx) {
  const int n = ctx.Count("X");
  if (ctx.NumOut("Out") != n) return Fail(ctx, 1, "has ", ctx.NumOut("Out"), " results, needs ", n, ", one per operand");
  const bool narrow = ctx.op().GetBool("cast_narrow");
  DType common = DType::kInvalid;
  for (int i = 0; i < n; ++i) {
    const DType t = ctx.In("X", i).dtype;
    if (!IsFloat(t)) continue;
    common = common == DType::kInvalid ? t : narrow ? Narrower(common, t) : Wider(common, t);
  }
  for (int i = 0; i < n; ++i) {
    const TensorType& x = ctx.In("X", i);
    ctx.Out("Out", i, IsFloat(x.dtype) ? x.WithDType(common) : x);
  }
  return absl::OkStatus();
}

}  // namespace

OpDef AmpMulticastDef() {
  return OpDef("amp_multicast")
      .Doc("The operands converted to their common float type: the widest, or the narrowest with cast_narrow. Other types pass unchanged.")
      .VarIn("X", kAsIs)
      .VarOut("Out", kAsIs)
      .A("cast_narrow", false)
      .Infer(InferAmpMulticast)
      .CostIs(MoveCost)
      .Amp(kNever, "states a type itself; a useless one is folded later")
      .Gradient("amp_cast dtype=X.dtype")
      .Alias("mxnet", "amp_multicast");
}

}  // namespace ampc::ops
