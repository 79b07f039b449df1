#include <algorithm>

#include "graph/base/size.h"
#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// The sizes of the parts along the axis, from SectionsTensorList, sections (one may be -1: the rest) or num (equal parts).
absl::StatusOr<std::vector<int64_t>> Sections(const InferContext& ctx, int64_t dim) {
  const int n = ctx.NumOut("Out");
  const int64_t num = ctx.op().GetInt("num");
  const ShapeArg given = ReadShapeArg(ctx, "SectionsTensorList", "", "sections");
  if (given->empty()) {
    if (num != n) return Fail(ctx, 2, "num is ", num, ", needs ", n, ", the number of results");
    if (IsKnown(dim) && dim % num != 0) return Fail(ctx, 3, "the axis has ", dim, " elements, needs a multiple of ", num);
    return std::vector<int64_t>(n, IsKnown(dim) ? dim / num : n == 1 ? dim : kUnknownDim);
  }
  if (static_cast<int>(given->size()) != n)
    return Fail(ctx, 2, "sections has ", given->size(), " numbers, needs ", n, ", the number of results");
  std::vector<int64_t> out;
  int64_t sum = 0;
  for (const std::optional<int64_t>& s : *given) {
    if (s.value_or(0) < -1) return Fail(ctx, 4, "the sections have ", *s, ", need at least 0, or -1 for the rest");
    out.push_back(s.value_or(kUnknownDim));
    sum = SatAdd(sum, std::max<int64_t>(out.back(), 0));
  }
  const int64_t open = std::count_if(out.begin(), out.end(), [](int64_t s) { return !IsKnown(s); });
  if (IsKnown(dim) && (open == 0 ? sum != dim : sum > dim)) return Fail(ctx, 4, "the sections sum to ", sum, ", need ", dim);
  if (open == 1 && IsKnown(dim)) *std::find_if(out.begin(), out.end(), [](int64_t s) { return !IsKnown(s); }) = dim - sum;
  return out;
}

absl::Status InferSplit(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  AMPC_ASSIGN_OR_RETURN(const std::optional<int64_t> axis, ReadIntArg(ctx, "AxisTensor", "axis", 5));
  TensorType out = x;
  if (!x.has_rank || !axis.has_value()) {
    if (x.has_rank) out.dims.assign(x.rank(), kUnknownDim);
    for (int i = 0; i < ctx.NumOut("Out"); ++i) ctx.Out("Out", i, out);
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {*axis}, x.rank(), 1));
  AMPC_ASSIGN_OR_RETURN(std::vector<int64_t> sections, Sections(ctx, x.dims[axes[0]]));
  for (int i = 0; i < ctx.NumOut("Out"); ++i) {
    out.dims[axes[0]] = sections[i];
    ctx.Out("Out", i, out);
  }
  return absl::OkStatus();
}

}  // namespace

OpDef SplitDef() {
  return OpDef("split")
      .Doc("X cut along 'axis' into 'num' equal parts, or into parts of the sizes 'sections' (one may be -1: the rest).")
      .In("X")
      .HostIn("AxisTensor")
      .HostVarIn("SectionsTensorList")
      .VarOut("Out")
      .A("sections", Ints{})
      .A("num", 0)
      .A("axis", 0)
      .Infer(InferSplit)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .Gradient("concat axis")
      .Alias("onnx", "Split")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
