#include <cmath>
#include <limits>

#include "graph/base/size.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

constexpr int kTooMany = 3;

// Exactly, of integers of any size.
absl::StatusOr<int64_t> CountIntegers(InferContext& ctx, int64_t start, int64_t end, int64_t step) {
  using Wide = __int128;
  const Wide span = static_cast<Wide>(end) - start, size = step < 0 ? -static_cast<Wide>(step) : static_cast<Wide>(step);
  const Wide distance = step < 0 ? -span : span;
  const Wide n = distance <= 0 ? 0 : (distance + size - 1) / size;
  if (n > std::numeric_limits<int64_t>::max())
    return Fail(ctx, kTooMany, "from ", start, " to ", end, " are more elements than a tensor has");
  return static_cast<int64_t>(n);
}

absl::StatusOr<int64_t> CountFloats(InferContext& ctx, double start, double end, double step) {
  const double n = std::fmax(0.0, std::ceil((end - start) / step));
  if (n >= 0x1p63) return Fail(ctx, kTooMany, "from ", start, " to ", end, " are more elements than a tensor has");
  return static_cast<int64_t>(n);
}

std::optional<int64_t> Integer(const InferContext& ctx, absl::string_view slot) {
  const std::optional<std::vector<int64_t>> value = ctx.Ints(slot);
  return value.has_value() && value->size() == 1 ? std::optional<int64_t>((*value)[0]) : std::nullopt;
}

absl::Status InferRange(InferContext& ctx) {
  for (const char* slot : {"Start", "End", "Step"}) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, slot, {}, 3));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Start", "End", 1));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Start", "Step", 1));
  const std::optional<double> start = ctx.Float("Start");
  const std::optional<double> end = ctx.Float("End");
  const std::optional<double> step = ctx.Float("Step");
  if (step.has_value() && *step == 0) return Fail(ctx, 2, "Step is 0, needs another number");
  int64_t n = kUnknownDim;
  const std::optional<int64_t> first = Integer(ctx, "Start"), last = Integer(ctx, "End"), by = Integer(ctx, "Step");
  if (first.has_value() && last.has_value() && by.has_value()) {
    AMPC_ASSIGN_OR_RETURN(n, CountIntegers(ctx, *first, *last, *by));
  } else if (start.has_value() && end.has_value() && step.has_value()) {
    AMPC_ASSIGN_OR_RETURN(n, CountFloats(ctx, *start, *end, *step));
  }
  const DType dtype = ctx.op().GetDType("dtype");
  ctx.Out("Out", TensorType(dtype == DType::kInvalid ? ctx.In("Start").dtype : dtype, {n}));
  return absl::OkStatus();
}

}  // namespace

OpDef RangeDef() {
  OpDef def("range");
  def.Doc("Start, Start + Step, ... below End (above it for a negative Step), as 'dtype', or in Start's type where that is not given.")
      .In("Start", kAsIs)
      .In("End", kAsIs)
      .In("Step", kAsIs)
      .Out("Out", kAsIs);
  for (SlotDef& slot : def.inputs) slot.host_value = true;
  return def.DTypeAttr("dtype", DType::kInvalid, false)
      .Infer(InferRange)
      .CostIs(PerResult<1>)
      .Amp(kNever, "positions and indices: f16 counts exactly only to 2048")
      .Gradient("none: its length depends on its operands")
      .Alias("onnx", "Range");
}

}  // namespace ampc::ops
