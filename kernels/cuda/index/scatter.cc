// scatter, scatter_nd_add; gradients of these, gather, index_select, lookup_table, lookup_table_v2, gather_nd, index_sample,
// take_along_axis, argsort, top_k, top_k_v2 and masked_select. Rows are ordered by where they go, so that each sum has one order.
#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/index/index.h"
#include "kernels/cuda/index/index_input.h"
#include "kernels/cuda/move/copy.h"
#include "kernels/cuda/sort/ordering.h"

namespace ampc::cuda {
namespace {

int64_t Width(DType dtype) { return static_cast<int64_t>(SizeOf(dtype)); }

int FillZeros(void* stream, void* to, int64_t bytes) { return LaunchFill(stream, to, bytes, 1, FillElement()); }

int CopyBytes(void* stream, const void* from, void* to, int64_t bytes) {
  const RowsPart all{static_cast<const char*>(from), static_cast<char*>(to), 1, bytes, 0, 0};
  return from == to ? 0 : LaunchRows(stream, &all, 1);
}

std::unique_ptr<Kernel> MakeNothing() {
  return MakeDeviceKernel({}, [](const KernelArgs&, void*) { return 0; });
}

// Sums of slices at positions, into zeros.
struct SliceSum {
  DType type = DType::kF32;
  int64_t outer = 1, slots = 0, count = 0, width = 1;
  int in = 0, out = 0;
  Ordering ordering;

  SortedRows Rows(void* workspace) const {
    return {ordering.sorted_keys(workspace), ordering.order(workspace), outer, slots, count, width};
  }
  int64_t workspace_bytes() const { return ordering.workspace_bytes() + SumBytes(type, outer, count, width); }
  // The keys are written.
  int Launch(const KernelArgs& args, void* stream) const {
    int code = ordering.Launch(stream, args.workspace);
    if (code == 0) code = FillZeros(stream, args.outputs[out], outer * slots * width * Width(type));
    if (code != 0) return code;
    return LaunchSumRows(stream, type, Rows(args.workspace), true, args.inputs[in], args.outputs[out],
                         static_cast<char*>(args.workspace) + ordering.workspace_bytes());
  }
};

// `keys` is int(args, stream, keys).
template <typename F>
absl::StatusOr<std::unique_ptr<Kernel>> MakeSliceSum(const SpecView& view, SliceSum sum, F keys) {
  AMPC_ASSIGN_OR_RETURN(sum.ordering, Ordering::Plan(view, sum.count, sum.slots + 1));
  KernelTraits traits;
  traits.implementation = "cuda:sorted_sum";
  traits.workspace_bytes = sum.workspace_bytes();
  return MakeDeviceKernel(std::move(traits), [sum, keys](const KernelArgs& args, void* stream) {
    const int code = keys(args, stream, sum.ordering.keys(args.workspace));
    return code != 0 ? code : sum.Launch(args, stream);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSlices(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const SliceIndexSpec s, ReadSliceIndex(view));
  const SliceSum sum{spec.outputs[s.table].dtype, s.outer, s.slots, s.count, s.width, view.In("Out@GRAD"), s.table, {}};
  return MakeSliceSum(view, sum, [s](const KernelArgs& args, void* stream, uint32_t* keys) {
    Positions at = PositionsOf(s);
    at.index = args.inputs[s.flat];
    return LaunchKeys(stream, at, s.count, s.slots, keys);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherNd(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.OutDesc("X@GRAD");
  AMPC_ASSIGN_OR_RETURN(const NdIndexSpec s, ReadNdIndex(view, "Index", x.dims));
  AMPC_ASSIGN_OR_RETURN(const Positions positions, PositionsOf(view, s));
  if (s.row_elements == 0) return MakeNothing();
  const SliceSum sum{x.dtype, 1, s.slots(), s.rows, s.row_elements, view.In("Out@GRAD"), view.Out("X@GRAD"), {}};
  return MakeSliceSum(view, sum,
                      [positions, index = s.flat, n = s.rows, slots = s.slots()](const KernelArgs& args, void* stream, uint32_t* keys) {
                        Positions at = positions;
                        at.index = args.inputs[index];
                        return LaunchKeys(stream, at, n, slots, keys);
                      });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAlongAxis(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const AlongAxisSpec s, ReadAlongAxis(view));
  const SliceSum sum{spec.outputs[s.table].dtype, 1, s.outer * s.slots * s.inner, s.outer * s.count * s.inner, 1, s.gradient, s.table, {}};
  return MakeSliceSum(
      view, sum, [s](const KernelArgs& args, void* stream, uint32_t* keys) { return LaunchKeysAlong(stream, AlongOf(s, args), keys); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeScatter(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const ScatterSpec s, ReadScatter(view));
  AMPC_ASSIGN_OR_RETURN(const Positions positions, PositionsOf(view, s.index));
  const TensorDesc& x = spec.inputs[s.x];
  const int64_t rows = s.index.rows, slots = s.index.slots(), width = s.index.row_elements, bytes = x.NumElements() * Width(x.dtype);
  AMPC_ASSIGN_OR_RETURN(const Ordering ordering, Ordering::Plan(view, rows, slots + 1));
  KernelTraits traits;
  traits.implementation = "cuda:scatter";
  traits.in_place_input = s.x;
  traits.workspace_bytes = ordering.workspace_bytes() + (s.adds ? SumBytes(x.dtype, 1, rows, width) : 0);
  return MakeDeviceKernel(std::move(traits), [=, adds = s.adds, from_zero = s.from_zero, index = s.index.flat, x = s.x, updates = s.updates,
                                              type = x.dtype](const KernelArgs& args, void* stream) {
    Positions at = positions;
    at.index = args.inputs[index];
    void* const out = args.outputs[0];
    int code = CopyBytes(stream, args.inputs[x], out, bytes);
    if (code == 0) code = LaunchKeys(stream, at, rows, slots, ordering.keys(args.workspace));
    if (code == 0) code = ordering.Launch(stream, args.workspace);
    if (code != 0) return code;
    SortedRows sorted{ordering.sorted_keys(args.workspace), ordering.order(args.workspace), 1, slots, rows, width};
    void* const rest = static_cast<char*>(args.workspace) + ordering.workspace_bytes();
    if (adds) return LaunchSumRows(stream, type, sorted, from_zero, args.inputs[updates], out, rest);
    sorted.width = width * Width(type);
    return LaunchPutLast(stream, sorted, args.inputs[updates], out);
  });
}

struct ScatterGradient {
  Positions at;
  int index = 0, gradient = 0, x = -1, updates = -1;
  int64_t rows = 0, slots = 0, row_bytes = 0, bytes = 0;
  bool replaces = false, last_wins = false;
  Missing missing;
  Ordering ordering;

  int Launch(const KernelArgs& args, void* stream) const {
    TakeParams take{at, 1, rows, slots, row_bytes, missing};
    take.at.index = args.inputs[index];
    const void* const from = args.inputs[gradient];
    int code = 0;
    if (x >= 0) code = CopyBytes(stream, from, args.outputs[x], bytes);
    if (code == 0 && x >= 0 && replaces) code = LaunchZeroRows(stream, take.at, rows, slots, row_bytes, args.outputs[x]);
    if (code != 0 || updates < 0) return code;
    if (!last_wins) return LaunchTake(stream, take, from, args.outputs[updates]);
    code = LaunchKeys(stream, take.at, rows, slots, ordering.keys(args.workspace));
    if (code == 0) code = ordering.Launch(stream, args.workspace);
    const SortedRows sorted{ordering.sorted_keys(args.workspace), ordering.order(args.workspace), 1, slots, rows, row_bytes};
    return code != 0 ? code : LaunchTakeLast(stream, sorted, from, args.outputs[updates]);
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeScatterGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const ScatterGradientSpec s, ReadScatterGradient(view));
  const TensorDesc& gradient = spec.inputs[s.gradient];
  ScatterGradient g;
  AMPC_ASSIGN_OR_RETURN(g.at, PositionsOf(view, s.index));
  g.index = s.index.flat;
  g.gradient = s.gradient;
  g.x = s.x;
  g.updates = s.updates;
  g.rows = s.index.rows;
  g.slots = s.index.slots();
  g.row_bytes = s.index.row_elements * Width(gradient.dtype);
  g.bytes = gradient.NumElements() * Width(gradient.dtype);
  g.replaces = s.replaces;
  g.last_wins = s.last_wins;
  g.missing = MissingValue(gradient.dtype);
  KernelTraits traits;
  traits.implementation = "cuda:scatter_grad";
  if (g.last_wins && g.updates >= 0) {
    AMPC_ASSIGN_OR_RETURN(g.ordering, Ordering::Plan(view, g.rows, g.slots + 1));
    traits.workspace_bytes = g.ordering.workspace_bytes();
  }
  return MakeDeviceKernel(std::move(traits), [g](const KernelArgs& args, void* stream) { return g.Launch(args, stream); });
}

// Elements that the mask chooses beyond those that have a gradient get 0.
absl::StatusOr<std::unique_ptr<Kernel>> MakeMaskedSelect(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.OutDesc("X@GRAD"), &mask = view.InDesc("Mask"), &gradient = view.InDesc("Y@GRAD");
  const int64_t n = x.NumElements(), count = std::min(gradient.NumElements(), n), size = Width(x.dtype);
  if (mask.NumElements() != n) return view.Unsupported("the device's kernel needs Mask in the shape of X");
  if (IsComplex(mask.dtype)) return view.Unsupported("the device's kernel needs a real Mask");
  AMPC_ASSIGN_OR_RETURN(const Ordering ordering, Ordering::Plan(view, n, 2));
  KernelTraits traits;
  traits.implementation = "cuda:unselect";
  traits.workspace_bytes = ordering.workspace_bytes();
  return MakeDeviceKernel(std::move(traits), [=, type = mask.dtype, in_mask = view.In("Mask"), in = view.In("Y@GRAD"),
                                              out = view.Out("X@GRAD")](const KernelArgs& args, void* stream) {
    int code = LaunchMaskKeys(stream, type, args.inputs[in_mask], n, ordering.keys(args.workspace));
    if (code == 0) code = ordering.Launch(stream, args.workspace);
    if (code == 0) code = FillZeros(stream, args.outputs[out], n * size);
    if (code != 0) return code;
    return LaunchUnselect(stream, ordering.sorted_keys(args.workspace), ordering.order(args.workspace), count, size, args.inputs[in],
                          args.outputs[out]);
  });
}

}  // namespace

absl::Status RegisterScatter(KernelRegistry* registry) {
  const std::vector<DType> floats = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"scatter", &MakeScatter, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(
      registry->Add({"scatter_nd_add", &MakeScatter, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}}));
  const std::pair<const char*, MakeKernelFn> gradients[] = {
      {"argsort_grad", &MakeAlongAxis},         {"gather_grad", &MakeSlices},           {"gather_nd_grad", &MakeGatherNd},
      {"index_sample_grad", &MakeAlongAxis},    {"index_select_grad", &MakeSlices},     {"lookup_table_grad", &MakeSlices},
      {"lookup_table_v2_grad", &MakeSlices},    {"scatter_grad", &MakeScatterGradient}, {"scatter_nd_add_grad", &MakeScatterGradient},
      {"take_along_axis_grad", &MakeAlongAxis}, {"top_k_grad", &MakeAlongAxis},         {"top_k_v2_grad", &MakeAlongAxis},
  };
  for (const auto& [op, make] : gradients) AMPC_RETURN_IF_ERROR(registry->Add({op, make, floats}));
  return absl::OkStatus();
}

// Beside the others, because its forward op ends a plan.
absl::Status RegisterMaskedSelectGradient(KernelRegistry* registry) {
  return registry->Add({"masked_select_grad", &MakeMaskedSelect, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc::cuda
