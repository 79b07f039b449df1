// log_softmax along any axis: what is left after the maximum, minus the logarithm of the sum of its exponentials. The sum is kept in
// double.
#include <algorithm>
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/parallel.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 12;
constexpr int64_t kColumns = 64;  // columns that are worked on together

// `columns` <= kColumns neighbours; the axis has elements `inner` apart.
template <typename T>
void Columns(const AxisSplit& s, const T* x, T* out, int64_t columns) {
  T max[kColumns];
  double sum[kColumns] = {};
  std::copy(x, x + columns, max);
  for (int64_t i = 1; i < s.size; ++i) {
    const T* row = x + i * s.inner;
    for (int64_t c = 0; c < columns; ++c) max[c] = row[c] > max[c] || row[c] != row[c] ? row[c] : max[c];
  }
  T e[kColumns];
  for (int64_t i = 0; i < s.size; ++i) {
    const T* row = x + i * s.inner;
    if constexpr (sizeof(T) == sizeof(float)) {
      simd::ExpColumns(row, max, e, columns);
    } else {
      for (int64_t c = 0; c < columns; ++c) e[c] = std::exp(row[c] - max[c]);
    }
    for (int64_t c = 0; c < columns; ++c) sum[c] += e[c];
  }
  for (int64_t c = 0; c < columns; ++c) sum[c] = std::log(sum[c]);
  for (int64_t i = 0; i < s.size; ++i) {
    const int64_t at = i * s.inner;
    for (int64_t c = 0; c < columns; ++c) out[at + c] = static_cast<T>((static_cast<double>(x[at + c]) - max[c]) - sum[c]);
  }
}

template <typename T>
void Row(const T* x, T* out, int64_t n) {
  constexpr int64_t kRun = 1024;
  T max = x[0];
  for (int64_t i = 1; i < n; ++i) max = x[i] > max || x[i] != x[i] ? x[i] : max;
  double sum = 0;
  if constexpr (sizeof(T) == sizeof(float)) {
    float shift[kRun], e[kRun];
    std::fill(shift, shift + std::min(n, kRun), max);
    for (int64_t i = 0; i < n; i += kRun) {
      const int64_t run = std::min(kRun, n - i);
      simd::ExpColumns(x + i, shift, e, run);
      for (int64_t k = 0; k < run; ++k) sum += e[k];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
  }
  const double log = std::log(sum);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>((static_cast<double>(x[i]) - max) - log);
}

template <typename T>
void Run(const AxisSplit& s, const KernelArgs& args) {
  const T* x = static_cast<const T*>(args.inputs[0]);
  T* out = static_cast<T*>(args.outputs[0]);
  if (s.inner == 1) {
    ParallelFor(args.threads, s.outer, std::max<int64_t>(1, kGrain / s.size), [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) Row(x + r * s.size, out + r * s.size, s.size);
    });
    return;
  }
  const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
  ParallelFor(args.threads, s.outer * blocks, std::max<int64_t>(1, kGrain / (s.size * kColumns)), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t column = b % blocks * kColumns, at = b / blocks * s.size * s.inner + column;
      Columns(s, x + at, out + at, std::min(kColumns, s.inner - column));
    }
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32, DType::kF64}));
  AMPC_ASSIGN_OR_RETURN(const AxisSplit s, ReadSoftmaxAxis(view, spec.inputs[0]));
  KernelTraits traits;
  traits.in_place_input = 0;
  if (s.outer * s.size * s.inner == 0) return MakeLambdaKernel(traits, [](const KernelArgs&) { return absl::OkStatus(); });
  return MakeLambdaKernel(traits, [s, narrow = StorageType(spec.outputs[0].dtype) == DType::kF32](const KernelArgs& args) {
    narrow ? Run<float>(s, args) : Run<double>(s, args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterLogSoftmax(KernelRegistry* registry) {
  return registry->Add({"log_softmax", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}, LayoutSupport::kFollows});
}

}  // namespace ampc
