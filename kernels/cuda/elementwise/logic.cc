// Comparisons, truth values and bits.
#include "kernels/cuda/elementwise/logic.h"

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/elementwise/map_plan.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc::cuda {
namespace {

KernelTraits Traits() {
  KernelTraits traits;
  traits.implementation = "cuda:logic";
  return traits;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const int op = static_cast<int>(FindLogic(view.op())->functor);
  if (spec.inputs.size() == 1) {
    AMPC_RETURN_IF_ERROR(CheckClass(view, spec.inputs[0].dtype, spec.inputs[0].dtype));
    return MakeDeviceKernel(Traits(), [map = PlanSame<1>(spec, {0}, 0), op](const KernelArgs& args, void* stream) {
      MapParams<1> p = map;
      p.in[0].data = args.inputs[0];
      p.out.data = args.outputs[0];
      return LaunchTruth(stream, op, p);
    });
  }
  AMPC_RETURN_IF_ERROR(CheckClass(view, spec.inputs[0].dtype, spec.inputs[1].dtype));
  MapParams<2> map;
  AMPC_RETURN_IF_ERROR(PlanBinary(view, &map));
  return MakeDeviceKernel(Traits(), [map, op](const KernelArgs& args, void* stream) {
    MapParams<2> p = map;
    for (int i = 0; i < 2; ++i) p.in[i].data = args.inputs[i];
    p.out.data = args.outputs[0];
    return LaunchLogic(stream, op, p);
  });
}

}  // namespace

absl::Status RegisterLogic(KernelRegistry* registry) {
  for (const LogicRow& row : LogicRows()) AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, TypesOf(row)}));
  return absl::OkStatus();
}

}  // namespace ampc::cuda
