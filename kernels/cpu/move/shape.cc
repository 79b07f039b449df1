// shape and size: numbers that are known before the run.
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"

namespace ampc {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MakeShape(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kI32, DType::kI64}));
  const Dims& in = spec.inputs[0].dims;
  std::vector<int64_t> dims(in.begin(), in.end());
  if (spec.outputs[0].NumElements() != static_cast<int64_t>(dims.size()))
    return view.Internal("the result needs one element per dimension");
  KernelTraits traits;
  return MakeLambdaKernel(std::move(traits), [dims = std::move(dims), wide = spec.outputs[0].dtype == DType::kI64](const KernelArgs& args) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (wide) {
        static_cast<int64_t*>(args.outputs[0])[d] = dims[d];
      } else {
        static_cast<int32_t*>(args.outputs[0])[d] = static_cast<int32_t>(dims[d]);
      }
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSize(const KernelSpec& spec) {
  return MakeLambdaKernel({}, [n = spec.inputs[0].NumElements()](const KernelArgs& args) {
    *static_cast<int64_t*>(args.outputs[0]) = n;
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterShape(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"size", &MakeSize, MovableTypes()}));
  return registry->Add({"shape", &MakeShape, MovableTypes()});
}

}  // namespace ampc
