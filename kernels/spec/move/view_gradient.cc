#include "absl/strings/match.h"
#include "graph/base/status_macros.h"
#include "kernels/spec/move/readers.h"
#include "kernels/spec/move/strided_axes.h"
#include "kernels/spec/move/view_spec.h"

namespace ampc::moves {

// The gradient goes back by the inverse permutation. XShape may be what is left of the operand, so its dims are those of the result.
Result ReadTransposeGradient(const SpecView& view) {
  const TensorDesc& gradient = view.InDesc("Out@GRAD");
  AMPC_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ReadPermutation(view, view.OutDesc("X@GRAD").dims));
  std::vector<int64_t> back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) back[axes[i]] = static_cast<int64_t>(i);
  const int in = view.In("Out@GRAD");
  const ViewSpec v = PermutedView(gradient, back);
  std::vector<int64_t> dense = DenseStrides(v.dims);
  const bool same = IsDense(JoinAxes(v.dims, v.from, dense));
  return MoveSpec{{{in, 0, view.Out("X@GRAD"), 0, v.dims, v.from, std::move(dense)}}, same ? in : -1, -1};
}

Result ReadSliceGradient(const SpecView& view) {
  const TensorDesc &gradient = view.InDesc("Out@GRAD"), &x = view.OutDesc("Input@GRAD");
  AMPC_ASSIGN_OR_RETURN(ViewSpec v, ReadSlice(view, x, absl::StartsWith(view.op().type(), "strided_")));
  std::vector<int64_t> source = DenseStrides(v.dims);
  int64_t first = 0, n = 1;
  for (size_t d = 0; d < v.dims.size(); ++d) {
    n *= v.dims[d];
    if (v.from[d] >= 0 || v.dims[d] == 0) continue;  // from the end: the destination's strides are positive
    v.first += (v.dims[d] - 1) * v.from[d];
    first += (v.dims[d] - 1) * source[d];
    v.from[d] = -v.from[d];
    source[d] = -source[d];
  }
  if (n != gradient.NumElements()) return view.Internal("the slice and the result differ in size");
  const int in = view.In("Out@GRAD"), out = view.Out("Input@GRAD");
  const bool whole = n == x.NumElements(), same = whole && IsDense(JoinAxes(v.dims, source, v.from));
  return MoveSpec{{{in, first, out, v.first, v.dims, std::move(source), v.from}}, same ? in : -1, whole ? -1 : out};
}

Result ReadRollGradient(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(const RollSpec roll, ReadRoll(view, view.InDesc("X").dims));
  return RollMove(roll, view.In("Out@GRAD"), view.Out("X@GRAD"), /*back=*/true);
}

Result ReadPixelShuffleGradient(const SpecView& view) {
  const TensorDesc& x = view.OutDesc("X@GRAD");
  if (x.NumElements() == 0) return MoveSpec();
  ShuffleSpec s = ReadShuffle(view.op(), x.dims);
  return MoveSpec{{{view.In("Out@GRAD"), 0, view.Out("X@GRAD"), 0, std::move(s.dims), std::move(s.to), std::move(s.from)}}, -1, -1};
}

}  // namespace ampc::moves
