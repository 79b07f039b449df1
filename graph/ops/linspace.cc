#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferLinspace(InferContext& ctx) {
  for (const char* slot : {"Start", "Stop", "Num"}) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, slot, {}, 3));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Start", "Stop", 1));
  int64_t n = kUnknownDim;
  if (const std::optional<std::vector<int64_t>> num = ctx.Ints("Num"); num.has_value() && num->size() == 1) {
    n = (*num)[0];
    if (n < 1) return Fail(ctx, 2, "Num is ", n, ", needs at least 1");
  }
  ctx.Out("Out", TensorType(ctx.op().GetDType("dtype"), {n}));
  return absl::OkStatus();
}

}  // namespace

OpDef LinspaceDef() {
  OpDef def("linspace");
  def.Doc("Num numbers from Start to Stop, both included, at equal distances.")
      .In("Start", kAsIs)
      .In("Stop", kAsIs)
      .In("Num", kAsIs)
      .Out("Out", kAsIs);
  def.inputs[2].host_value = true;
  return def.DTypeAttr("dtype", DType::kF32, false)
      .Infer(InferLinspace)
      .CostIs(PerResult<2>)
      .Amp(kNever, "positions: f16 counts exactly only to 2048")
      .Gradient("none: made of constants");
}

}  // namespace ampc::ops
