#include <cmath>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferRange(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Start", "End", 1));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Start", "Step", 1));
  const std::optional<double> start = ctx.Float("Start");
  const std::optional<double> end = ctx.Float("End");
  const std::optional<double> step = ctx.Float("Step");
  if (step.has_value() && *step == 0) return Fail(ctx, 2, "Step is 0, needs another number");
  int64_t n = kUnknownDim;
  if (start.has_value() && end.has_value() && step.has_value()) {
    n = static_cast<int64_t>(std::fmax(0.0, std::ceil((*end - *start) / *step)));
  }
  ctx.Out("Out", TensorType(ctx.In("Start").dtype, {n}));
  return absl::OkStatus();
}

}  // namespace

OpDef RangeDef() {
  OpDef def("range");
  def.Doc("Start, Start + Step, ... below End (above it for a negative Step).")
      .In("Start", kAsIs)
      .In("End", kAsIs)
      .In("Step", kAsIs)
      .Out("Out", kAsIs);
  for (SlotDef& slot : def.inputs) slot.host_value = true;
  return def.Infer(InferRange)
      .CostIs(PerResult<1>)
      .Amp(kNever, "positions and indices: f16 counts exactly only to 2048")
      .Gradient("none: its length depends on its operands")
      .Alias("onnx", "Range");
}

}  // namespace ampc::ops
