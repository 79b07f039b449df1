#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/packing.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferStart(InferContext& ctx) {
  int64_t total = 0;
  for (int i = 0; i < ctx.Count("X"); ++i) {
    const TensorType& x = ctx.In("X", i);
    if (x.dtype != DType::kInvalid && !IsFloat(x.dtype))
      return Fail(ctx, 1, "operand ", i, " of X is ", Name(x.dtype), ", needs a float type");
    const int64_t elements = x.has_rank ? Product(x.dims) : kUnknownDim;
    total = IsKnown(total) && IsKnown(elements) ? total + PackedElements(elements) : kUnknownDim;
  }
  ctx.Out("Pack", TensorType(DType::kF32, {total}));
  return absl::OkStatus();
}

}  // namespace

OpDef CAllreduceStartDef() {
  OpDef def("c_allreduce_start");
  def.Doc(
         "Starts to add up X over all processes of the job, packed in f32; the sums are there for the c_allreduce_finish with the same "
         "'bucket'. "
         "Between the two the processes exchange while they compute. Every process runs the op with operands of the same dims, in the same "
         "order.")
      .VarIn("X", kAsIs)
      .Out("Pack", kAsIs)
      .A("bucket", 0)
      .Infer(InferStart)
      .CostIs(UnscaleCost)
      .Amp(kNever, "moves gradients between processes as they are")
      .Gradient("none: runs on gradients")
      .Impure();
  return def;
}

}  // namespace ampc::ops
