// dropout. is_test: X, times 1 - p for downgrade_in_infer. Training: an element is kept when a hash of (seed, its position) says so. The
// seed is the Seed operand mixed with the attribute, so that ops may share an operand, or with fix_seed the attribute alone.
#include <algorithm>
#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/common/keep_mask.h"
#include "kernels/cpu/base/number_input.h"
#include "kernels/cpu/elementwise/unary_loop.h"
#include "kernels/cpu/simd/gradient_rows.h"
#include "kernels/kernel_registry.h"
#include "kernels/parallel.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

using simd::UnaryOp;

absl::StatusOr<std::unique_ptr<Kernel>> MakeTest(const SpecView& view, double factor) {
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

void Drop(const float* x, const uint8_t* keep, double factor, float* out, int64_t n) {
  simd::MaskRow(x, keep, /*inverse=*/false, static_cast<float>(factor), out, n);
}
void Drop(const double* x, const uint8_t* keep, double factor, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = keep[i] != 0 ? x[i] * factor : 0;
}

struct Training {
  NumberInput seed;
  uint64_t own = 0;        // what tells this op from others with the same seed
  uint64_t threshold = 0;  // of Keep
  double factor = 1;
  int mask = -1;
  int64_t n = 0;

  uint64_t Key(const KernelArgs& args) const { return MixBits(static_cast<uint64_t>(seed.Integer(args)) ^ own); }

  template <typename T>
  void Run(const KernelArgs& args) const {
    constexpr int64_t kBlock = 1024;
    const T* x = static_cast<const T*>(args.inputs[0]);
    T* out = static_cast<T*>(args.outputs[0]);
    uint8_t* all = mask < 0 ? nullptr : static_cast<uint8_t*>(args.outputs[mask]);
    const uint64_t key = Key(args);
    ParallelFor(args.threads, n, 1 << 13, [&](int64_t first, int64_t last) {
      uint8_t block[kBlock];
      for (int64_t i = first; i < last; i += kBlock) {
        const int64_t size = std::min(kBlock, last - i);
        uint8_t* keep = all == nullptr ? block : all + i;
        for (int64_t k = 0; k < size; ++k) keep[k] = Keep(key, static_cast<uint64_t>(i + k), threshold) ? 1 : 0;
        Drop(x + i, keep, factor, out + i, size);
      }
    });
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTraining(const SpecView& view) {
  const bool given = view.In("Seed") >= 0;
  if (!given && !view.op().GetBool("fix_seed")) {
    return view.Unsupported("training needs a Seed operand or fix_seed, because a kernel keeps no random state");
  }
  const TensorDesc& out = view.OutDesc("Out");
  const int64_t attribute = view.op().GetInt("seed");
  const Training t{.seed = given ? NumberInput(view, "Seed", 0) : NumberInput(attribute),
                   .own = given && attribute != 0 ? MixBits(static_cast<uint64_t>(attribute)) : 0,
                   .threshold = KeepThreshold(view.op().GetFloat("dropout_prob", 0.5)),
                   .factor = DropoutFactor(view.op()),
                   .mask = view.Out("Mask"),
                   .n = out.NumElements()};
  KernelTraits traits;
  traits.in_place_input = 0;
  return MakeLambdaKernel(std::move(traits), [t, narrow = StorageType(out.dtype) == DType::kF32](const KernelArgs& args) {
    narrow ? t.Run<float>(args) : t.Run<double>(args);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(view.OutDesc("Out").dtype, {DType::kF32, DType::kF64}));
  return view.op().GetBool("is_test") ? MakeTest(view, DropoutFactor(view.op())) : MakeTraining(view);
}

}  // namespace

absl::Status RegisterDropout(KernelRegistry* registry) {
  return registry->Add({"dropout", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}, LayoutSupport::kElementwise});
}

}  // namespace ampc
