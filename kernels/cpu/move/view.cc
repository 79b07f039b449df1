// Ops whose result is a strided view of the operand, made dense: transpose, transpose2, slice, strided_slice, flip, roll, expand_v2,
// expand_as_v2, tile; the gradients of transpose, transpose2 and roll, which are views too.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/move/move.h"
#include "kernels/cpu/move/view_spec.h"
#include "kernels/layout.h"

namespace ampc {
namespace {

using Sizes = std::vector<int64_t>;

std::unique_ptr<Kernel> MakeView(const SpecView& view, absl::string_view slot, const ViewSpec& v) {
  const int64_t size = ElementSize(view.InDesc(slot).dtype);
  const StridedCopy copy(v.dims, v.from, DenseStrides(v.dims), size);
  const bool same = copy.IsDense() && view.InDesc(slot).NumElements() == view.OutDesc("Out").NumElements();
  return MakeMove({{view.In(slot), v.first * size, view.Out("Out"), 0, copy}}, same ? view.In(slot) : -1);
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

std::unique_ptr<Kernel> MakeMatrixTranspose(const Matrices& m, int in, int out) {
  KernelTraits traits;
  traits.implementation = "ampc:transpose";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [m, in, out](const KernelArgs& args) {
    if (m.batch * m.rows * m.cols == 0) return absl::OkStatus();
    Transpose2D(args.threads, m.batch, m.rows, m.cols, static_cast<const float*>(args.inputs[in]), static_cast<float*>(args.outputs[out]));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTranspose(const KernelSpec& spec) {
  const SpecView view(spec);
  const Dims& in = view.InDesc("X").dims;
  AMPC_ASSIGN_OR_RETURN(const Sizes axes, ReadPermutation(view, in));
  // Floats have a vector loop for the common permutations.
  const std::optional<Matrices> matrices = AsMatrices(in, axes);
  if (matrices && StorageType(view.InDesc("X").dtype) == DType::kF32 && view.In("X") == 0 && view.Out("Out") == 0) {
    return MakeMatrixTranspose(*matrices, 0, 0);
  }
  return MakeView(view, "X", PermutedView(in, axes));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSlice(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const ViewSpec v, ReadSlice(view, view.InDesc("Input").dims, view.op().type() == "strided_slice"));
  int64_t n = 1;
  for (int64_t d : v.dims) n *= d;
  if (n != view.OutDesc("Out").NumElements()) return view.Internal("the slice and the result differ in size");
  return MakeView(view, "Input", v);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeExpand(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const ViewSpec v, ReadExpand(view, view.InDesc("X").dims, view.OutDesc("Out").dims));
  return MakeView(view, "X", v);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFlip(const KernelSpec& spec) {
  const SpecView view(spec);
  const Dims& in = view.InDesc("X").dims;
  const int64_t rank = static_cast<int64_t>(in.size());
  ViewSpec v{Sizes(in.begin(), in.end()), 0, DenseStrides(in)};
  for (int64_t axis : view.op().GetInts("axis")) {
    const int64_t d = FromEnd(axis, rank);
    if (d < 0 || d >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
    if (v.from[d] <= 0 || in[d] == 0) continue;  // an axis named twice is reversed once
    v.first += (in[d] - 1) * v.from[d];
    v.from[d] = -v.from[d];
  }
  return MakeView(view, "X", v);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTile(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const ViewSpec v, ReadTile(view, view.InDesc("X").dims, view.OutDesc("Out").dims));
  return MakeView(view, "X", v);
}

// From `in` to `out`, in the operand's order or back.
std::unique_ptr<Kernel> MakeRolled(const RollSpec& roll, int in, int out, int64_t size, bool back) {
  std::vector<Part> parts;
  for (const RolledBlock& b : roll.blocks) {
    const StridedCopy copy(b.dims, roll.strides, roll.strides, size);
    parts.push_back({in, (back ? b.to : b.from) * size, out, (back ? b.from : b.to) * size, copy});
  }
  const bool same = parts.size() == 1;
  return MakeMove(std::move(parts), same ? in : -1);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeRoll(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_ASSIGN_OR_RETURN(const RollSpec roll, ReadRoll(view, x.dims));
  return MakeRolled(roll, view.In("X"), view.Out("Out"), ElementSize(x.dtype), /*back=*/false);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeRollGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_ASSIGN_OR_RETURN(const RollSpec roll, ReadRoll(view, x.dims));
  return MakeRolled(roll, view.In("Out@GRAD"), view.Out("X@GRAD"), ElementSize(x.dtype), /*back=*/true);
}

// The gradient goes back by the inverse permutation. XShape may be what is left of the operand, so its dims are those of the result.
absl::StatusOr<std::unique_ptr<Kernel>> MakeTransposeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &gradient = view.InDesc("Out@GRAD"), &x = view.OutDesc("X@GRAD");
  AMPC_ASSIGN_OR_RETURN(const Sizes axes, ReadPermutation(view, x.dims));
  Sizes back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) back[axes[i]] = static_cast<int64_t>(i);
  const int in = view.In("Out@GRAD"), out = view.Out("X@GRAD");
  const std::optional<Matrices> matrices = AsMatrices(gradient.dims, back);
  if (matrices && StorageType(x.dtype) == DType::kF32) return MakeMatrixTranspose(*matrices, in, out);
  const ViewSpec v = PermutedView(gradient.dims, back);
  const StridedCopy copy(v.dims, v.from, DenseStrides(v.dims), ElementSize(x.dtype));
  return MakeMove({{in, 0, out, 0, copy}}, copy.IsDense() ? in : -1);
}

}  // namespace

absl::Status RegisterView(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"transpose", &MakeTranspose, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"transpose2", &MakeTranspose, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"slice", &MakeSlice, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"strided_slice", &MakeSlice, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"flip", &MakeFlip, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"roll", &MakeRoll, MovableTypes()}));
  for (const char* op : {"transpose_grad", "transpose2_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeTransposeGradient, MovableTypes()}));
  }
  AMPC_RETURN_IF_ERROR(registry->Add({"roll_grad", &MakeRollGradient, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"expand_as_v2", &MakeExpand, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"expand_v2", &MakeExpand, MovableTypes()}));
  return registry->Add({"tile", &MakeTile, MovableTypes()});
}

}  // namespace ampc
