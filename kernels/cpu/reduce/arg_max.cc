// arg_max and arg_min: the first position of the largest or smallest element; NaN is passed over, as in Paddle, and 0 where
// nothing is beyond the lowest (highest) number.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "graph/base/status_macros.h"
#include "kernels/common/functors.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/parallel.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;

template <typename T, bool max>
int64_t Find(const T* x, const AxisSplit& s) {
  T best = max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  int64_t at = 0;
  for (int64_t i = 0; i < s.size; ++i) {
    const T v = x[i * s.inner];
    if (max ? v > best : v < best) {
      best = v;
      at = i;
    }
  }
  return at;
}

// Finds the value first, with vectors, where there is no NaN.
template <bool max>
int64_t FindInRow(const float* x, int64_t n) {
  const auto run = simd::ReduceRun(max ? simd::ReduceOp::kMax : simd::ReduceOp::kMin);
  const functors::ScalarMath<float> m;
  float best = x[0];
  for (int64_t i = 0; i < n; i += simd::kReduceRun) {
    const float part = run(x + i, std::min(simd::kReduceRun, n - i));
    best = max ? functors::Max::Apply(m, best, part) : functors::Min::Apply(m, best, part);
  }
  const float limit = max ? std::numeric_limits<float>::lowest() : std::numeric_limits<float>::max();
  if (!(max ? best > limit : best < limit)) return Find<float, max>(x, {1, n, 1});
  return std::find(x, x + n, best) - x;
}

using RunFn = void (*)(const void* x, const AxisSplit& s, bool wide, void* out, int threads);

template <typename T, bool max>
void Run(const void* x, const AxisSplit& s, bool wide, void* out, int threads) {
  const T* in = static_cast<const T*>(x);
  ParallelFor(threads, s.outer * s.inner, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.size)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      int64_t best;
      if constexpr (std::is_same_v<T, float>) {
        best = s.inner == 1 ? FindInRow<max>(in + i * s.size, s.size) : Find<T, max>(in + i / s.inner * s.size * s.inner + i % s.inner, s);
      } else {
        best = Find<T, max>(in + i / s.inner * s.size * s.inner + i % s.inner, s);
      }
      if (wide) {
        static_cast<int64_t*>(out)[i] = best;
      } else {
        static_cast<int32_t*>(out)[i] = static_cast<int32_t>(best);
      }
    }
  });
}

template <bool max>
RunFn FindRun(DType storage) {
  return Select<Numbers>(storage, [](auto tag) -> RunFn { return &Run<typename decltype(tag)::type, max>; });
}

template <bool max>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = spec.inputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType<Numbers>(x.dtype));
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kI32, DType::kI64}));
  AMPC_ASSIGN_OR_RETURN(const AxisSplit s, ReadArgAxis(view));
  const bool wide = spec.outputs[0].dtype == DType::kI64;
  return MakeLambdaKernel({}, [s, wide, run = FindRun<max>(StorageType(x.dtype))](const KernelArgs& args) {
    run(args.inputs[0], s, wide, args.outputs[0], args.threads);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterArgMax(KernelRegistry* registry) {
  const std::vector<DType> types = DeclaredTypes<Numbers>();
  AMPC_RETURN_IF_ERROR(registry->Add({"arg_max", &Make<true>, types}));
  return registry->Add({"arg_min", &Make<false>, types});
}

}  // namespace ampc
