#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/layout.h"
#include "kernels/spec/move/readers.h"
#include "kernels/spec/move/strided_axes.h"
#include "kernels/spec/move/view_spec.h"

namespace ampc {

ShuffleSpec ReadShuffle(const Op& op, const Dims& x) {
  const int64_t r = op.GetInt("upscale_factor", 1);
  const bool last = ops::ChannelsLast(op.GetString("data_format"));
  const int64_t n = x[0], c = x[last ? 3 : 1] / (r * r), h = x[last ? 1 : 2], w = x[last ? 2 : 3];
  // X as [n, c, r, r, h, w] or [n, h, w, c, r, r], in the order of the result: [n, c, h, r, w, r] or [n, h, r, w, r, c].
  const int64_t hw = h * w, row = w * r;
  if (last) {
    return {
        {n, h, r, w, r, c}, {hw * c * r * r, w * c * r * r, r, c * r * r, 1, r * r}, {hw * c * r * r, r * row * c, row * c, r * c, c, 1}};
  }
  return {{n, c, h, r, w, r}, {c * r * r * hw, r * r * hw, w, r * hw, 1, hw}, {c * r * r * hw, r * r * hw, r * row, row, r, 1}};
}

MoveSpec RollMove(const RollSpec& roll, int in, int out, bool back) {
  MoveSpec move;
  for (const RolledBlock& b : roll.blocks) {
    move.parts.push_back({in, back ? b.to : b.from, out, back ? b.from : b.to, b.dims, roll.strides, roll.strides});
  }
  if (move.parts.size() == 1) move.alias_input = in;
  return move;
}

namespace moves {
namespace {

MoveSpec ViewMove(const SpecView& view, absl::string_view slot, const ViewSpec& v) {
  const int in = view.In(slot), out = view.Out("Out");
  std::vector<int64_t> dense = DenseStrides(v.dims);
  const bool same = IsDense(JoinAxes(v.dims, v.from, dense)) && view.InDesc(slot).NumElements() == view.OutDesc("Out").NumElements();
  return {{{in, v.first, out, 0, v.dims, v.from, std::move(dense)}}, same ? in : -1, -1};
}

// The dims of the view as they lie in the result, outermost in memory first.
ViewSpec InOrderOf(const TensorDesc& out, const ViewSpec& v) {
  ViewSpec ordered{{}, v.first, {}};
  for (int64_t d : MemoryOrder(out)) {
    ordered.dims.push_back(v.dims[d]);
    ordered.from.push_back(v.from[d]);
  }
  return ordered;
}

}  // namespace

Result ReadTransposeMove(const SpecView& view) {
  const TensorDesc& in = view.InDesc("X");
  AMPC_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ReadPermutation(view, in.dims));
  return ViewMove(view, "X", InOrderOf(view.OutDesc("Out"), PermutedView(in, axes)));
}

Result ReadSliceMove(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(const ViewSpec v, ReadSlice(view, view.InDesc("Input"), view.op().type() == "strided_slice"));
  int64_t n = 1;
  for (int64_t d : v.dims) n *= d;
  const TensorDesc& out = view.OutDesc("Out");
  if (n != out.NumElements()) return view.Internal("the slice and the result differ in size");
  return ViewMove(view, "Input", out.layout == Layout::kPlain ? v : InOrderOf(out, v));
}

Result ReadExpandMove(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(const ViewSpec v, ReadExpand(view, view.InDesc("X").dims, view.OutDesc("Out").dims));
  return ViewMove(view, "X", v);
}

Result ReadFlipMove(const SpecView& view) {
  const Dims& in = view.InDesc("X").dims;
  const int64_t rank = static_cast<int64_t>(in.size());
  ViewSpec v{std::vector<int64_t>(in.begin(), in.end()), 0, DenseStrides(in)};
  for (int64_t axis : view.op().GetInts("axis")) {
    const int64_t d = FromEnd(axis, rank);
    if (d < 0 || d >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
    if (v.from[d] <= 0 || in[d] == 0) continue;  // an axis named twice is reversed once
    v.first += (in[d] - 1) * v.from[d];
    v.from[d] = -v.from[d];
  }
  return ViewMove(view, "X", v);
}

Result ReadTileMove(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(const ViewSpec v, ReadTile(view, view.InDesc("X").dims, view.OutDesc("Out").dims));
  return ViewMove(view, "X", v);
}

Result ReadRollMove(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(const RollSpec roll, ReadRoll(view, view.InDesc("X").dims));
  return RollMove(roll, view.In("X"), view.Out("Out"), /*back=*/false);
}

Result ReadPixelShuffle(const SpecView& view) {
  const TensorDesc& x = view.spec().inputs[0];
  if (x.NumElements() == 0) return MoveSpec();
  ShuffleSpec s = ReadShuffle(view.op(), x.dims);
  return MoveSpec{{{0, 0, 0, 0, std::move(s.dims), std::move(s.from), std::move(s.to)}}, -1, -1};
}

}  // namespace moves
}  // namespace ampc
