#include "kernels/spec/move/view_spec.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "kernels/layout.h"

namespace ampc {
namespace {

using Sizes = std::vector<int64_t>;

// The numbers of a list of one-element tensors, one tensor or an attribute, in this order; all known before the run.
absl::StatusOr<Sizes> ListArg(const SpecView& view, absl::string_view list_slot, absl::string_view tensor_slot, absl::string_view attr) {
  Sizes out;
  for (int i = 0; i < view.NumIn(list_slot); ++i) {
    const auto value = view.Ints(list_slot, i);
    if (!value || value->empty()) return view.Unsupported(absl::StrCat(list_slot, " must be known before the run"));
    out.push_back((*value)[0]);
  }
  if (!out.empty()) return out;
  if (view.In(tensor_slot) < 0) return view.op().GetInts(attr);
  const auto value = view.Ints(tensor_slot);
  if (!value) return view.Unsupported(absl::StrCat(tensor_slot, " must be known before the run"));
  return *value;
}

struct Range {
  int64_t start = 0, size = 0;
};

Range PythonRange(int64_t n, int64_t start, int64_t end) {
  const auto clamp = [n](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + n : v, 0, n); };
  return {clamp(start), std::max<int64_t>(clamp(end) - clamp(start), 0)};
}

// As Paddle has it: with a negative step only the end -1 lies before the first element.
Range SteppedRange(int64_t n, int64_t start, int64_t end, int64_t step) {
  const auto from_end = [n](int64_t v) { return v < 0 ? std::max<int64_t>(v + n, 0) : v; };
  start = from_end(start);
  if (end != -1 || step > 0) end = from_end(end);
  if (step < 0) start = std::min(start, n - 1);
  const int64_t span = step > 0 ? std::min(end, n) - start : start - end;
  return {start, span <= 0 ? 0 : (span - 1) / std::abs(step) + 1};
}

}  // namespace

Sizes DenseStrides(absl::Span<const int64_t> dims) {
  Sizes strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

absl::StatusOr<Sizes> ReadPermutation(const SpecView& view, const Dims& in) {
  Sizes axes = view.op().GetInts("axis");
  if (axes.size() != in.size()) return view.Internal("axis and the operand differ in rank");
  for (int64_t& axis : axes) {
    axis = FromEnd(axis, static_cast<int64_t>(in.size()));
    if (axis < 0 || axis >= static_cast<int64_t>(in.size())) return view.Internal(absl::StrCat("axis has ", axis));
  }
  return axes;
}

ViewSpec PermutedView(const TensorDesc& in, const Sizes& axes) {
  const Sizes strides = StridesOf(in);
  ViewSpec v;
  for (int64_t axis : axes) {
    v.dims.push_back(in.dims[axis]);
    v.from.push_back(strides[axis]);
  }
  return v;
}

absl::StatusOr<ViewSpec> ReadSlice(const SpecView& view, const TensorDesc& t, bool stepped) {
  const Dims& in = t.dims;
  const Sizes strides = StridesOf(t), axes = view.op().GetInts("axes");
  AMPC_ASSIGN_OR_RETURN(const Sizes starts, ListArg(view, "StartsTensorList", "StartsTensor", "starts"));
  AMPC_ASSIGN_OR_RETURN(const Sizes ends, ListArg(view, "EndsTensorList", "EndsTensor", "ends"));
  Sizes steps(axes.size(), 1);
  if (stepped) {
    AMPC_ASSIGN_OR_RETURN(steps, ListArg(view, "StridesTensorList", "StridesTensor", "strides"));
  }
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) {
    return view.Internal("starts, ends and axes differ in length");
  }
  Sizes dims(in.begin(), in.end()), from = strides;
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t d = FromEnd(axes[i], static_cast<int64_t>(in.size())), n = d >= 0 && d < static_cast<int64_t>(in.size()) ? in[d] : -1;
    if (n < 0 || steps[i] == 0) return view.Internal("axes or strides are out of range");
    const Range range = steps[i] == 1 ? PythonRange(n, starts[i], ends[i]) : SteppedRange(n, starts[i], ends[i], steps[i]);
    dims[d] = range.size;
    first += range.start * strides[d];
    from[d] = strides[d] * steps[i];
  }
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  return ViewSpec{std::move(dims), empty ? 0 : first, std::move(from)};
}

absl::StatusOr<ViewSpec> ReadExpand(const SpecView& view, const Dims& in, const Dims& out) {
  const Sizes strides = DenseStrides(in);
  if (out.size() < in.size()) return view.Internal("the result has a lower rank than the operand");
  const size_t lead = out.size() - in.size();
  Sizes from(out.size(), 0);
  for (size_t d = lead; d < out.size(); ++d) {
    if (in[d - lead] != 1) from[d] = strides[d - lead];
    if (in[d - lead] != 1 && in[d - lead] != out[d]) return view.Internal("the operand does not broadcast to the result");
  }
  return ViewSpec{Sizes(out.begin(), out.end()), 0, std::move(from)};
}

// Every dimension of the result is a dimension of copies around one of the operand.
absl::StatusOr<ViewSpec> ReadTile(const SpecView& view, const Dims& in, const Dims& out) {
  const Sizes strides = DenseStrides(in);
  if (out.size() < in.size()) return view.Internal("the result has a lower rank than the operand");
  const size_t lead = out.size() - in.size();
  ViewSpec v;
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t n = d < lead ? 1 : in[d - lead];
    v.dims.push_back(n == 0 ? 0 : out[d] / n);
    v.dims.push_back(n);
    v.from.push_back(0);
    v.from.push_back(d < lead ? 0 : strides[d - lead]);
    if (n != 0 && out[d] % n != 0) return view.Internal("the result is no multiple of the operand");
  }
  return v;
}

// Each dimension is one or two stretches that keep their order; the result is put together from all combinations.
absl::StatusOr<RollSpec> ReadRoll(const SpecView& view, const Dims& in) {
  Sizes dims(in.begin(), in.end()), axes = view.op().GetInts("axis");
  AMPC_ASSIGN_OR_RETURN(const Sizes shifts, ListArg(view, "", "ShiftsTensor", "shifts"));
  if (axes.empty()) {
    dims = {NumElements(in).value_or(0)};
    axes = {0};
  }
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (shifts.size() != axes.size()) return view.Internal("shifts and axis differ in length");
  Sizes shift(dims.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t d = FromEnd(axes[i], rank);
    if (d < 0 || d >= rank) return view.Internal(absl::StrCat("axis ", axes[i], " lies outside rank ", rank));
    if (dims[d] > 0) shift[d] = (((shift[d] + shifts[i]) % dims[d]) + dims[d]) % dims[d];
  }
  RollSpec roll{DenseStrides(dims), {{dims, 0, 0}}};
  for (int64_t d = 0; d < rank; ++d) {
    const size_t n = shift[d] == 0 ? 0 : roll.blocks.size();
    for (size_t i = 0; i < n; ++i) {
      roll.blocks.push_back(roll.blocks[i]);
      RolledBlock &front = roll.blocks[i], &end = roll.blocks.back();
      front.to += shift[d] * roll.strides[d];  // the front moves back
      front.dims[d] = dims[d] - shift[d];
      end.from += (dims[d] - shift[d]) * roll.strides[d];  // the end moves to the front
      end.dims[d] = shift[d];
    }
  }
  return roll;
}

}  // namespace ampc
