// determinant: elimination with the largest pivot of each column, in double.
#include <algorithm>
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {
namespace {

// Of the n x n matrix `m`, which is overwritten.
double Eliminate(double* m, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t r = k + 1; r < n; ++r) {
      if (std::abs(m[r * n + k]) > std::abs(m[pivot * n + k])) pivot = r;
    }
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(m + pivot * n, m + (pivot + 1) * n, m + k * n);
      product = -product;
    }
    product *= m[k * n + k];
    for (int64_t r = k + 1; r < n; ++r) {
      const double factor = m[r * n + k] / m[k * n + k];
      for (int64_t c = k + 1; c < n; ++c) m[r * n + c] -= factor * m[k * n + c];
    }
  }
  return product;
}

template <typename T>
void Run(const KernelArgs& args, int64_t matrices, int64_t n) {
  double* scratch = static_cast<double*>(args.workspace);
  for (int64_t i = 0; i < matrices; ++i) {
    const T* x = static_cast<const T*>(args.inputs[0]) + i * n * n;
    std::copy(x, x + n * n, scratch);
    static_cast<T*>(args.outputs[0])[i] = static_cast<T>(Eliminate(scratch, n));
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = spec.inputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  if (x.dims.size() < 2) return view.Internal("the operand is no matrix");
  const int64_t n = x.dims.back(), matrices = spec.outputs[0].NumElements();
  KernelTraits traits;
  traits.workspace_bytes = std::max<int64_t>(1, n * n) * static_cast<int64_t>(sizeof(double));
  return MakeLambdaKernel(traits, [=, narrow = StorageType(x.dtype) == DType::kF32](const KernelArgs& args) {
    narrow ? Run<float>(args, matrices, n) : Run<double>(args, matrices, n);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterDeterminant(KernelRegistry* registry) {
  return registry->Add({"determinant", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc
