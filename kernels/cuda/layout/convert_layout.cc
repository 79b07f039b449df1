// The conversion between memory orders that plans put in (runtime/plan/move_kernels.h): an entry whose spec has no op.
#include "kernels/cuda/layout/convert_layout.h"

#include <memory>

#include "kernels/cuda/base/device_kernel.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace ampc::cuda {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvertLayout(const KernelSpec& spec) {
  const Dims& dims = spec.inputs[0].dims;
  TransposeParams params;
  params.batch = dims[0];
  params.rows = dims[1];
  params.cols = dims[2] * dims[3];
  params.width = static_cast<int64_t>(SizeOf(spec.inputs[0].dtype));
  if (spec.outputs[0].layout == Layout::kPlain) std::swap(params.rows, params.cols);
  return MakeDeviceKernel({.implementation = "cuda:convert_layout"}, [params](const KernelArgs& args, void* stream) {
    TransposeParams p = params;
    p.in = args.inputs[0];
    p.out = args.outputs[0];
    return LaunchTranspose(stream, p);
  });
}

}  // namespace

absl::Status RegisterConvertLayout(KernelRegistry* registry) {
  return registry->Add({.op = "convert_layout", .make = &MakeConvertLayout, .dtypes = {DType::kF16, DType::kBF16, DType::kF32}});
}

}  // namespace ampc::cuda
