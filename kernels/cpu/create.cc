// linspace and eye.
#include <algorithm>
#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {
namespace {

// From both ends, so that the last element is Stop itself; computed in the result's type.
template <typename T>
void Linspace(double start, double stop, int64_t n, void* result) {
  T* out = static_cast<T*>(result);
  const T first = static_cast<T>(start), last = static_cast<T>(stop);
  if (n == 1) {
    out[0] = first;
    return;
  }
  const T step = (last - first) / static_cast<T>(n - 1);
  for (int64_t i = 0; i < n; ++i) out[i] = i < n / 2 ? first + step * static_cast<T>(i) : last - step * static_cast<T>(n - i - 1);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLinspace(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32, DType::kF64}));
  const ScalarInput start(view, "Start", 0), stop(view, "Stop", 0);
  const auto run = spec.outputs[0].dtype == DType::kF64 ? &Linspace<double> : &Linspace<float>;
  return MakeLambdaKernel({}, [start, stop, run, n = spec.outputs[0].NumElements()](const KernelArgs& args) {
    run(start.Get(args), stop.Get(args), n, args.outputs[0]);
    return absl::OkStatus();
  });
}

template <typename T>
void Eye(int64_t rows, int64_t columns, void* result) {
  T* out = static_cast<T*>(result);
  std::fill(out, out + rows * columns, T{0});
  for (int64_t i = 0; i < std::min(rows, columns); ++i) out[i * columns + i] = T{1};
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeEye(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  if (out.dims.size() != 2) return view.Internal("the result needs two dimensions");
  const DType storage = StorageType(out.dtype);
  const auto run = storage == DType::kF32   ? &Eye<float>
                   : storage == DType::kF64 ? &Eye<double>
                   : storage == DType::kI32 ? &Eye<int32_t>
                                            : &Eye<int64_t>;
  KernelTraits traits;
  traits.rounds_results = true;
  return MakeLambdaKernel(traits, [run, rows = out.dims[0], columns = out.dims[1]](const KernelArgs& args) {
    run(rows, columns, args.outputs[0]);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterCreate(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"linspace", &MakeLinspace, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  return registry->Add({"eye", &MakeEye, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}});
}

}  // namespace ampc
