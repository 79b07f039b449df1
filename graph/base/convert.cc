#include "graph/base/convert.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "graph/base/convert_internal.h"

namespace ampc {
namespace convert_internal {
namespace {

template <typename Low>
void Narrow(const float* in, Low* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = Low(in[i]);
}

template <typename Low>
void Widen(const Low* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

template <typename Low>
void Round(float* data, size_t n) {
  for (size_t i = 0; i < n; ++i) data[i] = static_cast<float>(Low(data[i]));
}

#if defined(__x86_64__)
// Clang 14's __builtin_cpu_supports does not know f16c: leaf 1, bit 29 of ecx.
bool HasF16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

const Functions& Best() {
  static const Functions& best = *Available().back();
  return best;
}

}  // namespace

const Functions kScalar = {"scalar", Narrow<Half>, Widen<Half>, Narrow<BFloat16>, Widen<BFloat16>, Round<Half>, Round<BFloat16>};

std::vector<const Functions*> Available() {
  std::vector<const Functions*> available = {&kScalar};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && HasF16c()) {
    available.push_back(&kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
      available.push_back(&kAvx512);
    }
  }
#endif
  return available;
}

}  // namespace convert_internal

void F32ToF16(const float* in, Half* out, size_t n) { convert_internal::Best().f32_to_f16(in, out, n); }
void F16ToF32(const Half* in, float* out, size_t n) { convert_internal::Best().f16_to_f32(in, out, n); }
void F32ToBF16(const float* in, BFloat16* out, size_t n) { convert_internal::Best().f32_to_bf16(in, out, n); }
void BF16ToF32(const BFloat16* in, float* out, size_t n) { convert_internal::Best().bf16_to_f32(in, out, n); }
void RoundF32ToF16InPlace(float* data, size_t n) { convert_internal::Best().round_f16(data, n); }
void RoundF32ToBF16InPlace(float* data, size_t n) { convert_internal::Best().round_bf16(data, n); }

}  // namespace ampc
