// prelu: leaky_relu whose slope is an operand: one, one per channel, or one per element of a sample.
#include <algorithm>
#include <array>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 15;
constexpr int64_t kWide = 512;  // elements of rows that are computed as one

void OneByOne(const float* x, const float* alpha, float* out, int64_t n) { simd::PreluColumns(x, alpha, out, n); }
void OneByOne(const double* x, const double* alpha, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] < 0 ? alpha[i] * x[i] : x[i];
}

void Spread(const float* x, float alpha, float* out, int64_t n) {
  simd::Unary(simd::UnaryOp::kLeakyRelu)(x, out, static_cast<size_t>(n), {alpha, 0, 0});
}
void Spread(const double* x, double alpha, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] < 0 ? alpha * x[i] : x[i];
}

template <typename T>
void Run(const PreluShape& s, const KernelArgs& args, const void* slopes) {
  const T* x = static_cast<const T*>(args.inputs[0]);
  const T* alpha = static_cast<const T*>(slopes);
  T* out = static_cast<T*>(args.outputs[0]);
  if (s.inner == 1) {
    const int64_t rows = std::clamp<int64_t>(s.outer, 1, std::max<int64_t>(1, kWide / std::max<int64_t>(1, s.slopes)));
    std::array<T, kWide> repeated;
    for (int64_t i = 0; i < rows && rows > 1; ++i) std::copy_n(alpha, s.slopes, repeated.data() + i * s.slopes);
    const T* const each = rows > 1 ? repeated.data() : alpha;
    ParallelFor(args.threads, s.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.slopes)), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i += rows)
        OneByOne(x + i * s.slopes, each, out + i * s.slopes, std::min(rows, last - i) * s.slopes);
    });
    return;
  }
  if (s.outer * s.slopes == 1) {
    ParallelFor(args.threads, s.inner, kGrain,
                [&](int64_t first, int64_t last) { Spread(x + first, alpha[0], out + first, last - first); });
    return;
  }
  ParallelFor(args.threads, s.outer * s.slopes, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.inner)),
              [&](int64_t first, int64_t last) {
                for (int64_t i = first; i < last; ++i) Spread(x + i * s.inner, alpha[i % s.slopes], out + i * s.inner, s.inner);
              });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.outputs[0].dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32, DType::kF64}));
  for (const TensorDesc& in : spec.inputs) {
    if (StorageType(in.dtype) != storage) return view.Internal("an operand has another type than the result");
  }
  const Dims& x = view.InDesc("X").dims;
  PreluShape shape = PreluShapeOf(view.op(), x);
  if (shape.slopes != view.InDesc("Alpha").NumElements()) return view.Internal("Alpha has another size than its mode needs");
  KernelTraits traits;
  traits.in_place_input = 0;
  const bool last = view.InDesc("X").layout == Layout::kChannelsLast;
  if (last && shape.slopes == x[1]) {
    shape = {view.InDesc("X").NumElements() / std::max<int64_t>(1, x[1]), x[1], 1};
  } else if (last && shape.slopes != 1) {  // the slopes are brought to the order of X
    traits.workspace_bytes = 4 * shape.slopes;
    return MakeLambdaKernel(
        traits, [shape, channels = x[1], positions = shape.slopes / std::max<int64_t>(1, x[1])](const KernelArgs& args) {
          Transpose2D(args.threads, 1, channels, positions, static_cast<const float*>(args.inputs[1]), static_cast<float*>(args.workspace));
          Run<float>(shape, args, args.workspace);
          return absl::OkStatus();
        });
  }
  return MakeLambdaKernel(traits, [shape, narrow = storage == DType::kF32](const KernelArgs& args) {
    narrow ? Run<float>(shape, args, args.inputs[1]) : Run<double>(shape, args, args.inputs[1]);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterPrelu(KernelRegistry* registry) {
  return registry->Add({"prelu", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}, LayoutSupport::kFollows});
}

}  // namespace ampc
