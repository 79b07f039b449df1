#include "graph/base/convert_internal.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AMPC_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace ampc::convert_internal {
namespace {

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
constexpr size_t kLanes = 16;

// Lanes of the block that starts at element i of n: all, or the remaining ones.
inline uint16_t LanesFrom(size_t i, size_t n) { return n - i >= kLanes ? uint16_t{0xffff} : static_cast<uint16_t>((1u << (n - i)) - 1u); }

AMPC_AVX512 void F32ToF16(const float* in, Half* out, size_t n) {
  for (size_t i = 0; i < n; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, n);
    _mm256_mask_storeu_epi16(out + i, lanes, _mm512_maskz_cvtps_ph(lanes, _mm512_maskz_loadu_ps(lanes, in + i), kNearest));
  }
}

AMPC_AVX512 void F16ToF32(const Half* in, float* out, size_t n) {
  for (size_t i = 0; i < n; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, n);
    _mm512_mask_storeu_ps(out + i, lanes, _mm512_maskz_cvtph_ps(lanes, _mm256_maskz_loadu_epi16(lanes, in + i)));
  }
}

AMPC_AVX512 void RoundF16(float* data, size_t n) {
  for (size_t i = 0; i < n; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, n);
    const __m256i half = _mm512_maskz_cvtps_ph(lanes, _mm512_maskz_loadu_ps(lanes, data + i), kNearest);
    _mm512_mask_storeu_ps(data + i, lanes, _mm512_maskz_cvtph_ps(lanes, half));
  }
}

// Floats rounded to bf16, in the upper halves of the lanes; the lower halves are not cleared. Integer arithmetic: the native
// instruction flushes subnormals.
AMPC_AVX512 inline __m512i RoundedBF16(__mmask16 lanes, const float* in) {
  const __m512i bits = _mm512_maskz_loadu_epi32(lanes, in);
  const __m512i magnitude = _mm512_and_epi32(bits, _mm512_set1_epi32(0x7fffffff));
  const __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
  const __m512i odd = _mm512_and_epi32(_mm512_maskz_srli_epi32(lanes, bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  return _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
}

AMPC_AVX512 void F32ToBF16(const float* in, BFloat16* out, size_t n) {
  for (size_t i = 0; i < n; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, n);
    const __m512i upper = _mm512_maskz_srli_epi32(lanes, RoundedBF16(lanes, in + i), 16);
    _mm256_mask_storeu_epi16(out + i, lanes, _mm512_maskz_cvtepi32_epi16(lanes, upper));
  }
}

AMPC_AVX512 void BF16ToF32(const BFloat16* in, float* out, size_t n) {
  for (size_t i = 0; i < n; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, n);
    const __m512i wide = _mm512_maskz_cvtepu16_epi32(lanes, _mm256_maskz_loadu_epi16(lanes, in + i));
    _mm512_mask_storeu_epi32(out + i, lanes, _mm512_maskz_slli_epi32(lanes, wide, 16));
  }
}

AMPC_AVX512 void RoundBF16(float* data, size_t n) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  for (size_t i = 0; i < n; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, n);
    _mm512_mask_storeu_epi32(data + i, lanes, _mm512_and_epi32(RoundedBF16(lanes, data + i), upper));
  }
}

}  // namespace

const Functions kAvx512 = {"avx512", F32ToF16, F16ToF32, F32ToBF16, BF16ToF32, RoundF16, RoundBF16};

}  // namespace ampc::convert_internal
#endif
