// where: one of two values of any type.
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"

#include "kernels/cpu/base/types.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 15;

struct Pair {
  uint64_t low, high;
};

using Fn = void (*)(const bool* condition, const void* x, const void* y, void* out, int64_t first, int64_t last);

template <typename T>
void Select(const bool* condition, const void* x, const void* y, void* out, int64_t first, int64_t last) {
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  T* o = static_cast<T*>(out);
  for (int64_t i = first; i < last; ++i) o[i] = condition[i] ? a[i] : b[i];
}

Fn FindSelect(size_t size) {
  return size == 1   ? &Select<uint8_t>
         : size == 2 ? &Select<uint16_t>
         : size == 4 ? &Select<uint32_t>
         : size == 8 ? &Select<uint64_t>
                     : &Select<Pair>;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[0].dtype, {DType::kBool}));
  const DType storage = spec.outputs[0].storage();
  const int64_t n = spec.outputs[0].NumElements();
  for (int i = 1; i < 3; ++i) {
    if (spec.inputs[i].storage() != storage) return view.Internal("an operand has another type than the result");
  }
  for (const TensorDesc& in : spec.inputs) {
    if (in.NumElements() != n) return view.Internal("an operand has another size than the result");
  }
  KernelTraits traits;
  traits.rounds_results = spec.inputs[1].dtype == spec.outputs[0].dtype && spec.inputs[2].dtype == spec.outputs[0].dtype;
  return MakeLambdaKernel(traits, [n, select = FindSelect(SizeOf(storage))](const KernelArgs& args) {
    ParallelFor(args.threads, n, kGrain, [&](int64_t first, int64_t last) {
      select(static_cast<const bool*>(args.inputs[0]), args.inputs[1], args.inputs[2], args.outputs[0], first, last);
    });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterWhere(KernelRegistry* registry) {
  return registry->Add({"where", &Make, MovableTypes(), LayoutSupport::kPlainOnly, nullptr, HalfSupport::kMoves});
}

}  // namespace ampc
