#include <algorithm>
#include <cstdint>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

constexpr int64_t kNoBound = INT64_MIN;  // a bound whose value is not known

// Bound number `i`; infer_flags marks with -1 the bounds that the attribute does not know.
int64_t Bound(const InferContext& ctx, const ShapeArg& bounds, absl::string_view list_slot, size_t i) {
  const std::vector<int64_t> flags = ctx.op().GetInts("infer_flags");
  const bool open = i < flags.size() && flags[i] == -1 && !ctx.Has(list_slot);
  return bounds.has_value() && !open ? (*bounds)[i].value_or(kNoBound) : kNoBound;
}

// Elements of [start, end) after Python's rules for negative and large bounds; unknown where a bound or the dimension is.
int64_t SliceSize(int64_t dim, int64_t start, int64_t end) {
  if (start == kNoBound || end == kNoBound) return kUnknownDim;
  if (!IsKnown(dim)) return start == 0 && end >= INT32_MAX ? dim : kUnknownDim;
  const auto clamp = [dim](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + dim : v, 0, dim); };
  return std::max<int64_t>(clamp(end) - clamp(start), 0);
}

absl::Status InferSlice(InferContext& ctx) {
  const TensorType& x = ctx.In("Input");
  if (x.kind == TypeKind::kTensorArray) return absl::OkStatus();  // an element or a shorter array: as declared
  const std::vector<int64_t> given = ctx.op().GetInts("axes");
  const ShapeArg starts = ReadShapeArg(ctx, "StartsTensorList", "StartsTensor", "starts");
  const ShapeArg ends = ReadShapeArg(ctx, "EndsTensorList", "EndsTensor", "ends");
  for (const ShapeArg* arg : {&starts, &ends}) {
    if (arg->has_value() && (*arg)->size() != given.size()) {
      return Fail(ctx, 1, arg == &starts ? "starts" : "ends", " has ", (*arg)->size(), " numbers, needs ", given.size(), " like axes");
    }
  }
  if (!x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, given, x.rank(), 2));
  if (axes.size() != given.size()) return Fail(ctx, 2, "axes names a dimension twice");
  AMPC_ASSIGN_OR_RETURN(auto decrease, Axes(ctx, ctx.op().GetInts("decrease_axis"), x.rank(), 3));
  Dims dims = x.dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    dims[axes[i]] = SliceSize(dims[axes[i]], Bound(ctx, starts, "StartsTensorList", i), Bound(ctx, ends, "EndsTensorList", i));
  }
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

OpDef SliceDef() {
  return OpDef("slice")
      .Doc("Elements [starts, ends) along 'axes', with Python's negative bounds; the dimensions in decrease_axis, of size 1, are dropped.")
      .In("Input")
      .HostIn("StartsTensor")
      .HostIn("EndsTensor")
      .HostVarIn("StartsTensorList")
      .HostVarIn("EndsTensorList")
      .Out("Out")
      .Required("axes", Ints{})
      .A("starts", Ints{})
      .A("ends", Ints{})
      .A("infer_flags", Ints{})
      .A("decrease_axis", Ints{})
      .Infer(InferSlice)
      .CostIs([](const Op& op) {
        return Cost{0, 2 * (op.outputs().empty() ? 0 : Bytes(op.outputs()[0]->type))};
      })
      .Amp(kClear, "moves values without arithmetic")
      .Gradient("slice_grad");
}

}  // namespace ampc::ops
