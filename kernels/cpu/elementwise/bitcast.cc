// bitcast: what lies in memory as floats although it is declared f16 or bf16 is written as the bits of its type, and read from them.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

uint16_t BitsAt(const void* x, DType type, int64_t i) {
  if (type == DType::kF16) return Half(static_cast<const float*>(x)[i]).bits;
  if (type == DType::kBF16) return BFloat16(static_cast<const float*>(x)[i]).bits;
  return static_cast<const uint16_t*>(x)[i];
}

void StoreBits(uint16_t bits, DType type, int64_t i, void* out) {
  if (type == DType::kF16) {
    static_cast<float*>(out)[i] = Half::ToFloat(bits);
  } else if (type == DType::kBF16) {
    static_cast<float*>(out)[i] = static_cast<float>(BFloat16::FromBits(bits));
  } else {
    static_cast<uint16_t*>(out)[i] = bits;
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType from = spec.inputs[0].dtype, to = spec.outputs[0].dtype;
  const int64_t n = spec.outputs[0].NumElements();
  if (IsPacked(from) != IsPacked(to) || (IsPacked(from) && from != to))
    return view.Unsupported(absl::StrCat("bits of ", Name(from), " as ", Name(to)));
  KernelTraits traits;
  traits.rounds_results = true;
  if (IsLowPrecision(from) || IsLowPrecision(to)) {
    return MakeLambdaKernel(std::move(traits), [=](const KernelArgs& args) {
      ParallelFor(args.threads, n, 1 << 15, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) StoreBits(BitsAt(args.inputs[0], from, i), to, i, args.outputs[0]);
      });
      return absl::OkStatus();
    });
  }
  return MakeLambdaKernel(std::move(traits), [bytes = static_cast<size_t>(n) * SizeOf(to)](const KernelArgs& args) {
    if (bytes > 0) std::memcpy(args.outputs[0], args.inputs[0], bytes);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterBitcast(KernelRegistry* registry) { return registry->Add({"bitcast", &Make, MovableTypes()}); }

}  // namespace ampc
