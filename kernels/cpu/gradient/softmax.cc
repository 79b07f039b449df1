// Gradients of softmax, Out * (g - sum(g * Out)), and log_softmax, g - exp(Out) * sum(g), along any axis.
#include <algorithm>
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/gradient_rows.h"
#include "kernels/parallel.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;
constexpr int64_t kColumns = 64;  // neighbours that are worked on together

struct Plan : AxisSplit {
  bool log = false;
  int y = -1, g = -1;
};

// `n` <= kColumns neighbours; the axis has elements `inner` apart.
template <typename T>
void Columns(const Plan& p, const T* y, const T* g, T* out, int64_t n) {
  double sum[kColumns] = {};
  for (int64_t i = 0; i < p.size; ++i) {
    const T *ys = y + i * p.inner, *gs = g + i * p.inner;
    for (int64_t c = 0; c < n; ++c) sum[c] += static_cast<double>(gs[c]) * (p.log ? 1.0 : static_cast<double>(ys[c]));
  }
  T narrow[kColumns];
  std::copy(sum, sum + n, narrow);
  for (int64_t i = 0; i < p.size; ++i) {
    const T *ys = y + i * p.inner, *gs = g + i * p.inner;
    T* to = out + i * p.inner;
    for (int64_t c = 0; c < n; ++c) to[c] = p.log ? gs[c] - std::exp(ys[c]) * narrow[c] : ys[c] * (gs[c] - narrow[c]);
  }
}

template <typename T>
void Row(const Plan& p, const T* y, const T* g, T* out) {
  if constexpr (sizeof(T) == sizeof(float)) {
    p.log ? simd::LogSoftmaxGradient(y, g, out, p.size) : simd::SoftmaxGradient(y, g, out, p.size);
  } else {
    Columns(p, y, g, out, 1);
  }
}

template <typename T>
void Run(const Plan& p, const KernelArgs& args) {
  const T *y = static_cast<const T*>(args.inputs[p.y]), *g = static_cast<const T*>(args.inputs[p.g]);
  T* out = static_cast<T*>(args.outputs[0]);
  const int64_t blocks = (p.inner + kColumns - 1) / kColumns;
  const int64_t cost = std::max<int64_t>(1, p.size * std::min(kColumns, p.inner));
  ParallelFor(args.threads, p.outer * blocks, std::max<int64_t>(1, kGrain / cost), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t column = b % blocks * kColumns, at = b / blocks * p.size * p.inner + column;
      if (p.inner == 1) {
        Row(p, y + at, g + at, out + at);
      } else {
        Columns(p, y + at, g + at, out + at, std::min(kColumns, p.inner - column));
      }
    }
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  if (spec.outputs.empty()) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  const TensorDesc& to = spec.outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(to.dtype, {DType::kF32, DType::kF64}));
  AMPC_ASSIGN_OR_RETURN(const AxisSplit axis, ReadSoftmaxAxis(view, to));
  const Plan p{axis, view.op().type() == "log_softmax_grad", view.In("Out"), view.In("Out@GRAD")};
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  traits.in_place_input = p.g;
  return MakeLambdaKernel(traits, [p, narrow = StorageType(to.dtype) == DType::kF32](const KernelArgs& args) {
    narrow ? Run<float>(p, args) : Run<double>(p, args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterSoftmaxGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"log_softmax_grad", &Make, types}));
  return registry->Add({"softmax_grad", &Make, types});
}

}  // namespace ampc
