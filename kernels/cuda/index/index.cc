// gather, gather_nd, index_select, index_sample, take_along_axis, lookup_table and lookup_table_v2.
#include "kernels/cuda/index/index.h"

#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/index/index_input.h"

namespace ampc::cuda {
namespace {

KernelTraits Named(const char* name) {
  KernelTraits traits;
  traits.implementation = name;
  return traits;
}

std::unique_ptr<Kernel> MakeTake(const TakeParams& params, int index, int x) {
  return MakeDeviceKernel(Named("cuda:gather"), [params, index, x](const KernelArgs& args, void* stream) {
    TakeParams p = params;
    p.at.index = args.inputs[index];
    return LaunchTake(stream, p, args.inputs[x], args.outputs[0]);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGather(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(const SliceIndexSpec s, ReadSliceIndex(SpecView(spec)));
  const DType type = spec.inputs[s.table].dtype;
  return MakeTake({PositionsOf(s), s.outer, s.count, s.slots, s.width * static_cast<int64_t>(SizeOf(type)), MissingValue(type)}, s.flat,
                  s.table);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherNd(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_ASSIGN_OR_RETURN(const NdIndexSpec s, ReadNdIndex(view, "Index", x.dims));
  AMPC_ASSIGN_OR_RETURN(const Positions at, PositionsOf(view, s));
  if (s.rows * s.row_elements != view.OutDesc("Out").NumElements())
    return view.Internal("the gathered slices and the result differ in size");
  return MakeTake({at, 1, s.rows, s.slots(), s.row_elements * static_cast<int64_t>(SizeOf(x.dtype)), MissingValue(x.dtype)}, s.flat,
                  view.In("X"));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAlongAxis(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(const AlongAxisSpec s, ReadAlongAxis(SpecView(spec)));
  const DType type = spec.inputs[s.table].dtype;
  return MakeDeviceKernel(Named("cuda:gather"), [s, type, missing = MissingValue(type)](const KernelArgs& args, void* stream) {
    return LaunchTakeAlong(stream, AlongOf(s, args), static_cast<int64_t>(SizeOf(type)), missing, args.inputs[s.table], args.outputs[0]);
  });
}

}  // namespace

absl::Status RegisterIndex(KernelRegistry* registry) {
  const std::vector<DType> floats = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  const KernelEntry entries[] = {
      {"gather", &MakeGather, MovableTypes()},
      {"gather_nd", &MakeGatherNd, MovableTypes()},
      {"index_sample", &MakeAlongAxis, MovableTypes()},
      {"index_select", &MakeGather, MovableTypes()},
      {"lookup_table", &MakeGather, floats},
      {"lookup_table_v2", &MakeGather, floats},
      {"take_along_axis", &MakeAlongAxis, MovableTypes()},
  };
  for (const KernelEntry& entry : entries) AMPC_RETURN_IF_ERROR(registry->Add(entry));
  return absl::OkStatus();
}

}  // namespace ampc::cuda
