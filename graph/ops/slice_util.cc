#include "graph/ops/slice_util.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

constexpr int64_t kNoBound = INT64_MIN;  // a bound whose value is not known

// One of the lists that steer a slice.
struct Bounds {
  const char* attr;
  ShapeArg values;

  Bounds(const InferContext& ctx, const char* attr, const char* tensor_slot, const char* list_slot)
      : attr(attr), values(ReadShapeArg(ctx, list_slot, tensor_slot, attr)) {}
  // Number `i`; infer_flags marks with -1 the axes of which an attribute does not know a bound: those are given by tensors, of
  // which inference may not see any.
  int64_t At(const InferContext& ctx, size_t i) const {
    const std::vector<int64_t> flags = ctx.op().GetInts("infer_flags");
    const bool open = i < flags.size() && flags[i] == -1 && ctx.op().inputs().size() == 1;
    if (!values.has_value() || open || !(*values)[i].has_value()) return kNoBound;
    return std::max(*(*values)[i], kNoBound + 1);
  }
};

// Elements of [start, end) after Python's rules for negative and large bounds; unknown where a bound or the dimension is.
int64_t SliceSize(int64_t dim, int64_t start, int64_t end) {
  if (start == kNoBound || end == kNoBound) return kUnknownDim;
  if (!IsKnown(dim)) return start == 0 && end >= INT32_MAX ? dim : kUnknownDim;
  const auto clamp = [dim](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + dim : v, 0, dim); };
  return std::max<int64_t>(clamp(end) - clamp(start), 0);
}

// The same for every step-th element. Paddle's rule for negative steps is not Python's: only the end -1 lies before the first element.
int64_t StridedSize(int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (step == 1) return SliceSize(dim, start, end);
  if (start == kNoBound || end == kNoBound || step == kNoBound || !IsKnown(dim)) return kUnknownDim;
  const auto from_end = [dim](int64_t v) { return v < 0 ? std::max<int64_t>(v + dim, 0) : v; };
  start = from_end(start);
  if (end != -1 || step > 0) end = from_end(end);
  const int64_t span = step > 0 ? std::min(end, dim) - start : std::min(start, dim - 1) - end;
  return span <= 0 ? 0 : (span - 1) / std::abs(step) + 1;
}

absl::StatusOr<Dims> SlicedDims(const InferContext& ctx, const Dims& dims, bool strided) {
  const std::vector<int64_t> given = ctx.op().GetInts("axes");
  const Bounds starts(ctx, "starts", "StartsTensor", "StartsTensorList");
  const Bounds ends(ctx, "ends", "EndsTensor", "EndsTensorList");
  std::vector<const Bounds*> all = {&starts, &ends};
  std::optional<Bounds> steps;
  if (strided) all.push_back(&steps.emplace(ctx, "strides", "StridesTensor", "StridesTensorList"));
  for (const Bounds* b : all) {
    if (b->values.has_value() && b->values->size() != given.size()) {
      return Fail(ctx, 1, b->attr, " has ", b->values->size(), " numbers, needs ", given.size(), " like axes");
    }
  }
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, given, static_cast<int>(dims.size()), 2));
  if (axes.size() != given.size()) return Fail(ctx, 2, "axes names a dimension twice");
  Dims out = dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t step = strided ? steps->At(ctx, i) : 1;
    if (step == 0) return Fail(ctx, 5, "strides has 0 at ", i, ", needs another number");
    out[axes[i]] = StridedSize(dims[axes[i]], starts.At(ctx, i), ends.At(ctx, i), step);
  }
  return out;
}

absl::Status InferSlice(InferContext& ctx, bool strided) {
  const TensorType& x = ctx.In("Input");
  if (x.kind == TypeKind::kTensorArray) return absl::OkStatus();  // an element or a shorter array: as declared
  if (!x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(const Dims dims, SlicedDims(ctx, x.dims, strided));
  AMPC_ASSIGN_OR_RETURN(auto decrease, Axes(ctx, ctx.op().GetInts("decrease_axis"), x.rank(), 3));
  Dims out;
  for (int d = 0; d < x.rank(); ++d) {
    if (std::find(decrease.begin(), decrease.end(), d) == decrease.end()) {
      out.push_back(dims[d]);
    } else if (Differ(dims[d], 1)) {
      return Fail(ctx, 4, "dim ", d, " of the slice has ", dims[d], " elements, needs 1 to be dropped by decrease_axis");
    }
  }
  if (out.empty() && x.rank() > 0) out = ScalarDims(ctx, "Out");
  ctx.Out("Out", TensorType(x.dtype, out));
  return absl::OkStatus();
}

}  // namespace

OpDef Slice(std::string name, std::string doc, bool strided) {
  OpDef def(std::move(name));
  def.Doc(std::move(doc)).In("Input").HostIn("StartsTensor").HostIn("EndsTensor");
  if (strided) def.HostIn("StridesTensor");
  def.HostVarIn("StartsTensorList").HostVarIn("EndsTensorList");
  if (strided) def.HostVarIn("StridesTensorList");
  def.Out("Out").Required("axes", Ints{}).A("starts", Ints{}).A("ends", Ints{});
  if (strided) def.A("strides", Ints{});
  return def.A("infer_flags", Ints{})
      .A("decrease_axis", Ints{})
      .Infer(strided ? InferFn([](InferContext& ctx) { return InferSlice(ctx, true); })
                     : [](InferContext& ctx) { return InferSlice(ctx, false); })
      .CostIs([](const Op& op) {
        return Cost{0, 2 * (op.outputs().empty() ? 0 : Bytes(op.outputs()[0]->type))};
      })
      .Amp(kClear, "moves values without arithmetic");
}

}  // namespace ampc::ops
