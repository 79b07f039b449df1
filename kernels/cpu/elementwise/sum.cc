// sum: n tensors of one shape, added from first to last. Floats add in float32 and round once.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kTile = 1 << 11;
constexpr int64_t kGrain = 1 << 14;

using AddFn = void (*)(const void* x, const void* y, void* out, int64_t n);

template <typename T>
void Add(const void* x, const void* y, void* out, int64_t n) {
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  T* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>) {
      o[i] = integer::Add(a[i], b[i]);
    } else {
      o[i] = a[i] + b[i];
    }
  }
}

void AddFloats(const void* x, const void* y, void* out, int64_t n) {
  simd::Binary(simd::BinaryOp::kAdd, simd::Spread::kNone)(static_cast<const float*>(x), static_cast<const float*>(y),
                                                          static_cast<float*>(out), static_cast<size_t>(n));
}

AddFn FindAdd(DType storage) {
  if (storage == DType::kF32) return &AddFloats;
  return Select<Numbers>(storage, [](auto tag) -> AddFn { return &Add<typename decltype(tag)::type>; });
}

// The first operand's memory may become the result's unless the same value is read again, after the first sum was written.
bool FirstIsReadAgain(const Op& op) {
  const auto rest = op.inputs().subspan(1);
  return std::find(rest.begin(), rest.end(), op.inputs()[0]) != rest.end();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  const DType storage = StorageType(spec.outputs[0].dtype);
  const int64_t n = spec.outputs[0].NumElements();
  for (const TensorDesc& in : spec.inputs) {
    if (StorageType(in.dtype) != storage || in.NumElements() != n)
      return view.Internal("an operand differs from the result in type or size");
  }
  KernelTraits traits;
  if (spec.inputs.size() <= 2 || !FirstIsReadAgain(view.op())) traits.in_place_input = 0;
  if (storage == DType::kF32) traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  return MakeLambdaKernel(std::move(traits), [add = FindAdd(storage), n, size = SizeOf(storage)](const KernelArgs& args) {
    ParallelFor(args.threads, n, kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i += kTile) {
        const int64_t count = std::min(kTile, last - i);
        char* out = static_cast<char*>(args.outputs[0]) + i * size;
        const void* sum = static_cast<const char*>(args.inputs[0]) + i * size;
        if (args.inputs.size() == 1 && sum != out) std::memcpy(out, sum, count * size);
        for (size_t k = 1; k < args.inputs.size(); ++k) {
          add(sum, static_cast<const char*>(args.inputs[k]) + i * size, out, count);
          sum = out;
        }
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterSum(KernelRegistry* registry) {
  return registry->Add(
      {"sum", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}, LayoutSupport::kElementwise});
}

}  // namespace ampc
