#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/axis_split.h"
#include "kernels/layout.h"
#include "kernels/spec/move/readers.h"

namespace ampc::moves {
namespace {

// The axis from AxisTensor or the attribute, in [0, rank).
absl::StatusOr<int64_t> AxisOf(const SpecView& view, int64_t rank) {
  int64_t axis = view.op().GetInt("axis");
  if (view.In("AxisTensor") >= 0) {
    const auto value = view.Ints("AxisTensor");
    if (!value || value->empty()) return view.Unsupported("AxisTensor must be known before the run");
    axis = (*value)[0];
  }
  axis = FromEnd(axis, rank);
  if (axis < 0 || axis >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
  return axis;
}

// All lie in one order of memory.
AxisSplit SplitInMemory(const TensorDesc& t, int64_t axis) { return SplitAt(DimsInMemory(t), AxisInMemory(t, axis)); }

// The results in slot `to` are blocks of the operand in slot `from`.
Result Blocks(const SpecView& view, absl::string_view from, absl::string_view to) {
  const TensorDesc& in = view.InDesc(from);
  AMPC_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(view, static_cast<int64_t>(in.dims.size())));
  const AxisSplit sides = SplitInMemory(in, axis);
  const int64_t total = sides.size * sides.inner;
  MoveSpec move;
  int64_t at = 0;
  for (int i = 0; i < view.NumOut(to); ++i) {
    const int64_t width = view.OutDesc(to, i).dims[axis] * sides.inner;
    if (at + width > total) return view.Internal("the results are longer than the operand");
    move.parts.push_back({view.In(from), at, view.Out(to, i), 0, {sides.outer, width}, {total, 1}, {width, 1}});
    at += width;
  }
  return move;
}

// The results are slices of the operand in slot `from`, without the axis.
Result Slices(const SpecView& view, absl::string_view from) {
  const TensorDesc& in = view.InDesc(from);
  const int64_t rank = static_cast<int64_t>(in.dims.size()), axis = FromEnd(view.op().GetInt("axis"), rank);
  const int64_t n = static_cast<int64_t>(view.spec().outputs.size());
  if (axis < 0 || axis >= rank || in.dims[axis] != n) return view.Internal("the axis does not have one element per result");
  const AxisSplit sides = SplitAt(in.dims, axis);
  MoveSpec move;
  for (int i = 0; i < n; ++i) {
    move.parts.push_back({view.In(from), i * sides.inner, i, 0, {sides.outer, sides.inner}, {n * sides.inner, 1}, {sides.inner, 1}});
  }
  return move;
}

}  // namespace

// Blocks of outer x width elements are the operands of outer x total.
Result ReadConcat(const SpecView& view) {
  const TensorDesc& out = view.spec().outputs[0];
  AMPC_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(view, static_cast<int64_t>(out.dims.size())));
  const AxisSplit sides = SplitInMemory(out, axis);
  const int64_t total = sides.size * sides.inner;
  MoveSpec move;
  int64_t at = 0;
  for (int i = 0; i < view.NumIn("X"); ++i) {
    const TensorDesc& in = view.InDesc("X", i);
    if (in.dims.size() != out.dims.size()) return view.Internal("an operand has another rank than the result");
    const int64_t width = in.dims[axis] * sides.inner;
    if (at + width > total) return view.Internal("the operands are longer than the result");
    move.parts.push_back({view.In("X", i), 0, 0, at, {sides.outer, width}, {width, 1}, {total, 1}});
    at += width;
  }
  if (at != total) return view.Internal("the operands are shorter than the result");
  return move;
}

Result ReadSplit(const SpecView& view) { return Blocks(view, "X", "Out"); }

Result ReadConcatGradient(const SpecView& view) { return Blocks(view, "Out@GRAD", "X@GRAD"); }

Result ReadStack(const SpecView& view) {
  const TensorDesc& out = view.spec().outputs[0];
  const int64_t axis = FromEnd(view.op().GetInt("axis"), static_cast<int64_t>(out.dims.size()));
  if (axis < 0 || axis >= static_cast<int64_t>(out.dims.size())) return view.Internal("the axis lies outside the result");
  const AxisSplit sides = SplitAt(out.dims, axis);
  const int64_t n = view.NumIn("X");
  MoveSpec move;
  for (int i = 0; i < n; ++i) {
    move.parts.push_back({view.In("X", i), 0, 0, i * sides.inner, {sides.outer, sides.inner}, {sides.inner, 1}, {n * sides.inner, 1}});
  }
  return move;
}

Result ReadUnstack(const SpecView& view) { return Slices(view, "X"); }

Result ReadStackGradient(const SpecView& view) { return Slices(view, "Y@GRAD"); }

// Each vector repeated over a grid.
Result ReadMeshgrid(const SpecView& view) {
  const int n = view.NumIn("X");
  MoveSpec move;
  for (int i = 0; i < n && i < view.NumOut("Out"); ++i) {
    const TensorDesc &x = view.InDesc("X", i), &out = view.OutDesc("Out", i);
    if (static_cast<int>(out.dims.size()) != n || x.NumElements() != out.dims[i])
      return view.Internal("a result is no grid of the operands");
    const AxisSplit s = SplitAt(out.dims, i);
    move.parts.push_back(
        {view.In("X", i), 0, view.Out("Out", i), 0, {s.outer, s.size, s.inner}, {0, 1, 0}, {s.size * s.inner, s.inner, 1}});
  }
  return move;
}

}  // namespace ampc::moves
