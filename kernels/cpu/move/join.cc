// concat, split, stack, unstack, unbind and the gradients of concat and stack: dense blocks side by side along one dimension.
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/move/move.h"

namespace ampc {
namespace {

struct Sides {
  int64_t outer = 1, inner = 1;  // elements before and after the axis
};

Sides AroundAxis(const Dims& dims, int64_t axis) {
  Sides sides;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (d != axis) (d < axis ? sides.outer : sides.inner) *= dims[d];
  }
  return sides;
}

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

// Blocks of outer x `widths[i]` elements are the operands of outer x total.
absl::StatusOr<std::unique_ptr<Kernel>> MakeConcat(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  AMPC_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(view, static_cast<int64_t>(out.dims.size())));
  const Sides sides = AroundAxis(out.dims, axis);
  const int64_t size = ElementSize(out.dtype), total = out.dims[axis] * sides.inner;
  std::vector<Part> parts;
  int64_t at = 0;
  for (int i = 0; i < view.NumIn("X"); ++i) {
    const TensorDesc& in = view.InDesc("X", i);
    if (StorageType(in.dtype) != StorageType(out.dtype)) return view.Internal("an operand has another type than the result");
    if (in.dims.size() != out.dims.size()) return view.Internal("an operand has another rank than the result");
    const int64_t width = in.dims[axis] * sides.inner;
    if (at + width > total) return view.Internal("the operands are longer than the result");
    parts.push_back({view.In("X", i), 0, 0, at * size, StridedCopy({sides.outer, width}, {width, 1}, {total, 1}, size)});
    at += width;
  }
  if (at != total) return view.Internal("the operands are shorter than the result");
  return MakeMove(std::move(parts));
}

// The results in slot `to` are blocks of the operand in slot `from`.
absl::StatusOr<std::unique_ptr<Kernel>> MakeBlocks(const SpecView& view, absl::string_view from, absl::string_view to) {
  const TensorDesc& in = view.InDesc(from);
  AMPC_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(view, static_cast<int64_t>(in.dims.size())));
  const Sides sides = AroundAxis(in.dims, axis);
  const int64_t size = ElementSize(in.dtype), total = in.dims[axis] * sides.inner;
  std::vector<Part> parts;
  int64_t at = 0;
  for (int i = 0; i < view.NumOut(to); ++i) {
    const int64_t width = view.OutDesc(to, i).dims[axis] * sides.inner;
    if (at + width > total) return view.Internal("the results are longer than the operand");
    parts.push_back({view.In(from), at * size, view.Out(to, i), 0, StridedCopy({sides.outer, width}, {total, 1}, {width, 1}, size)});
    at += width;
  }
  return MakeMove(std::move(parts));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSplit(const KernelSpec& spec) { return MakeBlocks(SpecView(spec), "X", "Out"); }

absl::StatusOr<std::unique_ptr<Kernel>> MakeConcatGradient(const KernelSpec& spec) {
  return MakeBlocks(SpecView(spec), "Out@GRAD", "X@GRAD");
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeStack(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  const int64_t axis = FromEnd(view.op().GetInt("axis"), static_cast<int64_t>(out.dims.size()));
  if (axis < 0 || axis >= static_cast<int64_t>(out.dims.size())) return view.Internal("the axis lies outside the result");
  const Sides sides = AroundAxis(out.dims, axis);
  const int64_t size = ElementSize(out.dtype), n = view.NumIn("X");
  std::vector<Part> parts;
  for (int i = 0; i < n; ++i) {
    parts.push_back({view.In("X", i), 0, 0, i * sides.inner * size,
                     StridedCopy({sides.outer, sides.inner}, {sides.inner, 1}, {n * sides.inner, 1}, size)});
  }
  return MakeMove(std::move(parts));
}

// The results are slices of the operand in slot `from`, without the axis.
absl::StatusOr<std::unique_ptr<Kernel>> MakeSlices(const SpecView& view, absl::string_view from) {
  const TensorDesc& in = view.InDesc(from);
  const int64_t rank = static_cast<int64_t>(in.dims.size()), axis = FromEnd(view.op().GetInt("axis"), rank);
  const int64_t n = static_cast<int64_t>(view.spec().outputs.size());
  if (axis < 0 || axis >= rank || in.dims[axis] != n) return view.Internal("the axis does not have one element per result");
  const Sides sides = AroundAxis(in.dims, axis);
  const int64_t size = ElementSize(in.dtype);
  std::vector<Part> parts;
  for (int i = 0; i < n; ++i) {
    parts.push_back({view.In(from), i * sides.inner * size, i, 0,
                     StridedCopy({sides.outer, sides.inner}, {n * sides.inner, 1}, {sides.inner, 1}, size)});
  }
  return MakeMove(std::move(parts));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeUnstack(const KernelSpec& spec) { return MakeSlices(SpecView(spec), "X"); }

absl::StatusOr<std::unique_ptr<Kernel>> MakeStackGradient(const KernelSpec& spec) { return MakeSlices(SpecView(spec), "Y@GRAD"); }

}  // namespace

absl::Status RegisterJoin(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"concat", &MakeConcat, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"split", &MakeSplit, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"stack", &MakeStack, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"unbind", &MakeUnstack, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"concat_grad", &MakeConcatGradient, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"stack_grad", &MakeStackGradient, MovableTypes()}));
  return registry->Add({"unstack", &MakeUnstack, MovableTypes()});
}

}  // namespace ampc
