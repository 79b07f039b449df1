// Ops whose result is a strided view of the operand, made dense: transpose, transpose2, slice, strided_slice, flip, roll, expand_v2,
// expand_as_v2, tile.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/move/move.h"
#include "kernels/layout.h"

namespace ampc {
namespace {

using Sizes = std::vector<int64_t>;

Sizes Strides(absl::Span<const int64_t> dims) {
  Sizes strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

// The result of `dims` is dense; its element at i is the operand's at first + i * from.
std::unique_ptr<Kernel> MakeView(const SpecView& view, absl::string_view slot, const Sizes& dims, int64_t first, const Sizes& from) {
  const int64_t size = ElementSize(view.InDesc(slot).dtype);
  const StridedCopy copy(dims, from, Strides(dims), size);
  const bool same = copy.IsDense() && view.InDesc(slot).NumElements() == view.OutDesc("Out").NumElements();
  return MakeMove({{view.In(slot), first * size, view.Out("Out"), 0, copy}}, same ? view.In(slot) : -1);
}

// A batch of matrices, each transposed.
struct Matrices {
  int64_t batch = 1, rows = 1, cols = 1;
};

// Whether the permutation, dimensions of size 1 aside, keeps leading dimensions and swaps two groups of the others.
std::optional<Matrices> AsMatrices(const Dims& in, const Sizes& axes) {
  Sizes order;  // the axes whose size matters
  for (int64_t a : axes) {
    if (in[a] != 1) order.push_back(a);
  }
  Sizes sorted = order;
  std::sort(sorted.begin(), sorted.end());
  size_t kept = 0;
  while (kept < order.size() && order[kept] == sorted[kept]) ++kept;
  if (kept == order.size()) return std::nullopt;
  const auto middle = std::find(sorted.begin() + kept, sorted.end(), order[kept]);
  Sizes swapped(sorted.begin(), sorted.begin() + kept);
  swapped.insert(swapped.end(), middle, sorted.end());
  swapped.insert(swapped.end(), sorted.begin() + kept, middle);
  if (swapped != order) return std::nullopt;
  Matrices m;
  for (auto at = sorted.begin(); at != sorted.end(); ++at) {
    (at < sorted.begin() + kept ? m.batch : at < middle ? m.rows : m.cols) *= in[*at];
  }
  return m;
}

std::unique_ptr<Kernel> MakeMatrixTranspose(const Matrices& m) {
  KernelTraits traits;
  traits.implementation = "ampc:transpose";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [m](const KernelArgs& args) {
    if (m.batch * m.rows * m.cols == 0) return absl::OkStatus();
    Transpose2D(args.threads, m.batch, m.rows, m.cols, static_cast<const float*>(args.inputs[0]), static_cast<float*>(args.outputs[0]));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTranspose(const KernelSpec& spec) {
  const SpecView view(spec);
  const Dims& in = view.InDesc("X").dims;
  const Sizes strides = Strides(in);
  Sizes axes = view.op().GetInts("axis");
  if (axes.size() != in.size()) return view.Internal("axis and the operand differ in rank");
  Sizes dims, from;
  for (int64_t& axis : axes) {
    axis = FromEnd(axis, static_cast<int64_t>(in.size()));
    if (axis < 0 || axis >= static_cast<int64_t>(in.size())) return view.Internal(absl::StrCat("axis has ", axis));
    dims.push_back(in[axis]);
    from.push_back(strides[axis]);
  }
  // Floats have a vector loop for the common permutations.
  const std::optional<Matrices> matrices = AsMatrices(in, axes);
  if (matrices && StorageType(view.InDesc("X").dtype) == DType::kF32 && view.In("X") == 0 && view.Out("Out") == 0) {
    return MakeMatrixTranspose(*matrices);
  }
  return MakeView(view, "X", dims, 0, from);
}

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

absl::StatusOr<std::unique_ptr<Kernel>> MakeSlice(const KernelSpec& spec) {
  const SpecView view(spec);
  const Dims& in = view.InDesc("Input").dims;
  const Sizes strides = Strides(in), axes = view.op().GetInts("axes");
  const bool stepped = view.op().type() == "strided_slice";
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
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  if (n != view.OutDesc("Out").NumElements()) return view.Internal("the slice and the result differ in size");
  return MakeView(view, "Input", dims, n == 0 ? 0 : first, from);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeExpand(const KernelSpec& spec) {
  const SpecView view(spec);
  const Dims &in = view.InDesc("X").dims, &out = view.OutDesc("Out").dims;
  const Sizes strides = Strides(in);
  if (out.size() < in.size()) return view.Internal("the result has a lower rank than the operand");
  const size_t lead = out.size() - in.size();
  Sizes from(out.size(), 0);
  for (size_t d = lead; d < out.size(); ++d) {
    if (in[d - lead] != 1) from[d] = strides[d - lead];
    if (in[d - lead] != 1 && in[d - lead] != out[d]) return view.Internal("the operand does not broadcast to the result");
  }
  return MakeView(view, "X", Sizes(out.begin(), out.end()), 0, from);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFlip(const KernelSpec& spec) {
  const SpecView view(spec);
  const Dims& in = view.InDesc("X").dims;
  const int64_t rank = static_cast<int64_t>(in.size());
  Sizes from = Strides(in);
  int64_t first = 0;
  for (int64_t axis : view.op().GetInts("axis")) {
    const int64_t d = FromEnd(axis, rank);
    if (d < 0 || d >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
    if (from[d] <= 0 || in[d] == 0) continue;  // an axis named twice is reversed once
    first += (in[d] - 1) * from[d];
    from[d] = -from[d];
  }
  return MakeView(view, "X", Sizes(in.begin(), in.end()), first, from);
}

// Each dimension is one or two stretches that keep their order; the result is put together from all combinations.
absl::StatusOr<std::unique_ptr<Kernel>> MakeRoll(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  Sizes dims(x.dims.begin(), x.dims.end()), axes = view.op().GetInts("axis");
  AMPC_ASSIGN_OR_RETURN(const Sizes shifts, ListArg(view, "", "ShiftsTensor", "shifts"));
  if (axes.empty()) {
    dims = {x.NumElements()};
    axes = {0};
  }
  const int64_t rank = static_cast<int64_t>(dims.size()), size = ElementSize(x.dtype);
  if (shifts.size() != axes.size()) return view.Internal("shifts and axis differ in length");
  Sizes shift(dims.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t d = FromEnd(axes[i], rank);
    if (d < 0 || d >= rank) return view.Internal(absl::StrCat("axis ", axes[i], " lies outside rank ", rank));
    if (dims[d] > 0) shift[d] = (((shift[d] + shifts[i]) % dims[d]) + dims[d]) % dims[d];
  }
  const Sizes strides = Strides(dims);
  std::vector<Part> parts = {{view.In("X"), 0, view.Out("Out"), 0, {}}};
  std::vector<Sizes> sizes = {dims};
  for (int64_t d = 0; d < rank; ++d) {
    const size_t n = shift[d] == 0 ? 0 : parts.size();
    for (size_t i = 0; i < n; ++i) {
      parts.push_back(parts[i]);
      sizes.push_back(sizes[i]);
      parts[i].to += shift[d] * strides[d] * size;  // the front moves back
      sizes[i][d] = dims[d] - shift[d];
      parts.back().from += (dims[d] - shift[d]) * strides[d] * size;  // the end moves to the front
      sizes.back()[d] = shift[d];
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) parts[i].copy = StridedCopy(sizes[i], strides, strides, size);
  const bool same = parts.size() == 1;
  return MakeMove(std::move(parts), same ? view.In("X") : -1);
}

// Every dimension of the result is a dimension of copies around one of the operand.
absl::StatusOr<std::unique_ptr<Kernel>> MakeTile(const KernelSpec& spec) {
  const SpecView view(spec);
  const Dims &in = view.InDesc("X").dims, &out = view.OutDesc("Out").dims;
  const Sizes strides = Strides(in);
  if (out.size() < in.size()) return view.Internal("the result has a lower rank than the operand");
  const size_t lead = out.size() - in.size();
  Sizes dims, from;
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t n = d < lead ? 1 : in[d - lead];
    dims.push_back(n == 0 ? 0 : out[d] / n);
    dims.push_back(n);
    from.push_back(0);
    from.push_back(d < lead ? 0 : strides[d - lead]);
    if (n != 0 && out[d] % n != 0) return view.Internal("the result is no multiple of the operand");
  }
  return MakeView(view, "X", dims, 0, from);
}

}  // namespace

absl::Status RegisterView(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"transpose", &MakeTranspose, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"transpose2", &MakeTranspose, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"slice", &MakeSlice, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"strided_slice", &MakeSlice, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"flip", &MakeFlip, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"roll", &MakeRoll, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"expand_as_v2", &MakeExpand, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"expand_v2", &MakeExpand, MovableTypes()}));
  return registry->Add({"tile", &MakeTile, MovableTypes()});
}

}  // namespace ampc
