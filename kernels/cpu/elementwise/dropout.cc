// dropout. is_test: X, times 1 - p for downgrade_in_infer. Training: an element is kept when a hash of (seed, its position) says so,
// so the mask depends on the seed alone; the seed is the Seed operand or, with fix_seed, the attribute.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/common/keep_mask.h"
#include "kernels/cpu/elementwise/unary_loop.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using simd::UnaryOp;

std::unique_ptr<Kernel> MakeTest(const SpecView& view, double factor) {
  const TensorDesc& out = view.OutDesc("Out");
  const UnaryLoop loop(UnaryOp::kScaleThenBias, out.dtype, out.NumElements());
  KernelTraits traits = loop.traits();
  const int mask = view.Out("Mask");
  if (factor == 1 && mask < 0) {
    traits.alias_input = 0;
    traits.rounds_results = true;
  }
  return MakeLambdaKernel(std::move(traits), [loop, factor, mask, n = out.NumElements()](const KernelArgs& args) {
    loop.Run({factor, -0.0, 0}, args);  // adding -0 changes nothing, not even -0
    if (mask >= 0 && args.outputs[mask] != nullptr) std::memset(args.outputs[mask], 1, static_cast<size_t>(n));
    return absl::OkStatus();
  });
}

template <typename T>
void Drop(const void* x, const void* mask, void* out, int64_t n, T factor) {
  const uint8_t* keep = static_cast<const uint8_t*>(mask);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = keep[i] != 0 ? static_cast<const T*>(x)[i] * factor : T(0);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTraining(const SpecView& view, double p, bool upscale) {
  const ScalarInput seed(view, "Seed", static_cast<double>(view.op().GetInt("seed")));
  if (seed.is_fixed() && view.In("Seed") < 0 && !view.op().GetBool("fix_seed")) {
    return view.Unsupported("training needs a Seed operand or fix_seed, because a kernel keeps no random state");
  }
  if (view.Out("Mask") < 0) return view.Unsupported("training needs the result Mask, which its gradient reads");
  const TensorDesc& out = view.OutDesc("Out");
  KernelTraits traits;
  traits.in_place_input = 0;
  const double factor = !upscale ? 1 : p == 1 ? 0 : 1 / (1 - p);
  const bool is_double = out.dtype == DType::kF64;
  return MakeLambdaKernel(std::move(traits), [=, n = out.NumElements(), mask_at = view.Out("Mask")](const KernelArgs& args) {
    const uint64_t key = static_cast<uint64_t>(static_cast<int64_t>(seed.Get(args)));
    uint8_t* mask = static_cast<uint8_t*>(args.outputs[mask_at]);
    ParallelFor(args.threads, n, 1 << 13, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) mask[i] = Keep(key, static_cast<uint64_t>(i), p) ? 1 : 0;
      const int64_t size = is_double ? 8 : 4;
      const char* x = static_cast<const char*>(args.inputs[0]) + first * size;
      char* y = static_cast<char*>(args.outputs[0]) + first * size;
      if (is_double) {
        Drop<double>(x, mask + first, y, last - first, factor);
      } else {
        Drop<float>(x, mask + first, y, last - first, static_cast<float>(factor));
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(view.OutDesc("Out").dtype, {DType::kF32, DType::kF64}));
  const double p = view.op().GetFloat("dropout_prob", 0.5);
  const bool upscale = view.op().GetString("dropout_implementation", "downgrade_in_infer") == "upscale_in_train";
  if (!view.op().GetBool("is_test")) return MakeTraining(view, p, upscale);
  // The difference in the type of the attribute: 1 - 0.1f is what a program trained with 0.1f means.
  return MakeTest(view, upscale ? 1 : static_cast<double>(1.0f - static_cast<float>(p)));
}

}  // namespace

absl::Status RegisterDropout(KernelRegistry* registry) {
  return registry->Add({"dropout", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}, LayoutSupport::kElementwise});
}

}  // namespace ampc
