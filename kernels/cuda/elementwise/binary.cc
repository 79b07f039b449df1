// elementwise_* and atan2.
#include "kernels/cuda/elementwise/binary.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/elementwise/map_plan.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc::cuda {
namespace {

// An operand that has every element of the result may lend it its memory.
int InPlace(const KernelSpec& spec) {
  for (int i = 0; i < 2; ++i) {
    if (spec.inputs[i].dtype == spec.outputs[0].dtype && spec.inputs[i].NumElements() == spec.outputs[0].NumElements()) return i;
  }
  return -1;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType dtype = spec.outputs[0].dtype;
  for (int i = 0; i < 2; ++i) AMPC_RETURN_IF_ERROR(CheckClass(view, spec.inputs[i].dtype, dtype));
  if (dtype == DType::kBool) return view.Unsupported("there is no device kernel for bool");
  MapParams<2> map;
  AMPC_RETURN_IF_ERROR(PlanBinary(view, &map));
  KernelTraits traits;
  traits.implementation = "cuda:binary";
  traits.in_place_input = InPlace(spec);
  return MakeDeviceKernel(std::move(traits), [map, op = FindBinary(view.op())->functor](const KernelArgs& args, void* stream) {
    MapParams<2> p = map;
    for (int i = 0; i < 2; ++i) p.in[i].data = args.inputs[i];
    p.out.data = args.outputs[0];
    return LaunchBinary(stream, op, p);
  });
}

}  // namespace

absl::Status RegisterBinary(KernelRegistry* registry) {
  for (const BinaryRow& row : BinaryRows()) {
    AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, TypesOf(row), LayoutSupport::kElementwise}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
