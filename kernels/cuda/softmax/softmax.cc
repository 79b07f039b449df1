// softmax, log_softmax and their gradients on a device.
#include "kernels/cuda/softmax/softmax.h"

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/reduce/shape_of.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc::cuda {
namespace {

absl::StatusOr<SoftmaxParams> Read(const SpecView& view, std::initializer_list<int> operands) {
  const TensorDesc& out = view.spec().outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64}));
  for (int i : operands) {
    if (view.spec().inputs[i].dtype != out.dtype) return view.Unsupported("the device's kernel needs operands of the result's type");
  }
  AMPC_ASSIGN_OR_RETURN(const AxisSplit axis, ReadSoftmaxAxis(view, out));
  SoftmaxParams p;
  p.rows = RowsOf(axis);
  p.dtype = out.dtype;
  p.log = view.op().type() == "log_softmax" || view.op().type() == "log_softmax_grad";
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const SoftmaxParams p, Read(view, {0}));
  KernelTraits traits;
  traits.implementation = "cuda:softmax";
  traits.in_place_input = 0;
  return MakeDeviceKernel(std::move(traits), [p](const KernelArgs& args, void* stream) {
    SoftmaxParams run = p;
    run.x = args.inputs[0];
    run.out = args.outputs[0];
    return p.rows.size == 0 ? 0 : LaunchSoftmax(stream, run);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  KernelTraits traits;
  traits.implementation = "cuda:softmax_gradient";
  if (spec.outputs.empty()) return MakeDeviceKernel(std::move(traits), [](const KernelArgs&, void*) { return 0; });
  const SpecView view(spec);
  const int y = view.In("Out"), g = view.In("Out@GRAD");
  AMPC_ASSIGN_OR_RETURN(const SoftmaxParams p, Read(view, {y, g}));
  traits.in_place_input = g;
  return MakeDeviceKernel(std::move(traits), [p, y, g](const KernelArgs& args, void* stream) {
    SoftmaxParams run = p;
    run.x = args.inputs[y];
    run.g = args.inputs[g];
    run.out = args.outputs[0];
    return p.rows.size == 0 ? 0 : LaunchSoftmaxGradient(stream, run);
  });
}

}  // namespace

absl::Status RegisterSoftmax(KernelRegistry* registry) {
  return registry->Add({"softmax", &Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

absl::Status RegisterLogSoftmax(KernelRegistry* registry) {
  return registry->Add({"log_softmax", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

absl::Status RegisterSoftmaxGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"log_softmax_grad", &MakeGradient, types}));
  return registry->Add({"softmax_grad", &MakeGradient, types});
}

}  // namespace ampc::cuda
