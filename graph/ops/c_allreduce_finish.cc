#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/packing.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferFinish(InferContext& ctx) {
  int64_t total = 0;
  for (int i = 0; i < ctx.Count("X"); ++i) {
    const TensorType& x = ctx.In("X", i);
    const int64_t elements = x.has_rank ? Product(x.dims) : kUnknownDim;
    total = IsKnown(total) && IsKnown(elements) ? total + PackedElements(elements) : kUnknownDim;
  }
  const TensorType& pack = ctx.In("Pack");
  const int64_t found = pack.has_rank ? Product(pack.dims) : kUnknownDim;
  if (Differ(found, total)) return Fail(ctx, 2, "Pack has ", found, " elements, needs ", total, ", those of X in whole vectors of 4");
  if (pack.dtype != DType::kF32 && pack.dtype != DType::kInvalid) return Fail(ctx, 3, "Pack is ", Name(pack.dtype), ", needs f32");
  return OutLikeX(ctx);
}

}  // namespace

OpDef CAllreduceFinishDef() {
  OpDef def("c_allreduce_finish");
  def.Doc(
         "Out = the sums over all processes that c_allreduce_start has put into Pack, or their means with 'average', each with the type of "
         "its X, "
         "rounded once. The values of X are not read.")
      .In("Pack", kAsIs)
      .VarIn("X", kAsIs)
      .VarOut("Out", kAsIs)
      .A("average", false)
      .A("bucket", 0)
      .Infer(InferFinish)
      .CostIs(UnscaleCost)
      .Amp(kNever, "moves gradients between processes as they are")
      .Gradient("none: runs on gradients")
      .Impure();
  for (SlotDef& slot : def.outputs) slot.overwrites = true;
  return def;
}

}  // namespace ampc::ops
