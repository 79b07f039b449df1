#include "graph/base/convert_internal.h"

#if defined(__x86_64__)
#include <immintrin.h>

// A function attribute instead of a file-wide flag: an inline function shared with other files is never compiled for AVX2 here.
#define AMPC_AVX2 __attribute__((target("avx2,f16c")))

namespace ampc::convert_internal {
namespace {

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

AMPC_AVX2 void F32ToF16(const float* in, Half* out, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), kNearest));
  }
  for (; i < n; ++i) out[i] = Half(in[i]);
}

AMPC_AVX2 void F16ToF32(const Half* in, float* out, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
  for (; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

AMPC_AVX2 void RoundF16(float* data, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(data + i, _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(data + i), kNearest)));
  }
  for (; i < n; ++i) data[i] = static_cast<float>(Half(data[i]));
}

// Eight floats rounded to bf16, in the upper halves of the lanes; the lower halves are not cleared. Integer arithmetic: the
// native instruction flushes subnormals.
AMPC_AVX2 inline __m256i RoundedBF16(const float* in) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  return _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)), nan);
}

AMPC_AVX2 void F32ToBF16(const float* in, BFloat16* out, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i low = _mm256_srli_epi32(RoundedBF16(in + i), 16);
    const __m256i high = _mm256_srli_epi32(RoundedBF16(in + i + 8), 16);
    // packus works inside each 128-bit half, so the middle quarters come out swapped.
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), packed);
  }
  for (; i < n; ++i) out[i] = BFloat16(in[i]);
}

AMPC_AVX2 void BF16ToF32(const BFloat16* in, float* out, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_slli_epi32(wide, 16));
  }
  for (; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

AMPC_AVX2 void RoundBF16(float* data, size_t n) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(data + i), _mm256_and_si256(RoundedBF16(data + i), upper));
  }
  for (; i < n; ++i) data[i] = static_cast<float>(BFloat16(data[i]));
}

}  // namespace

const Functions kAvx2 = {"avx2", F32ToF16, F16ToF32, F32ToBF16, BF16ToF32, RoundF16, RoundBF16};

}  // namespace ampc::convert_internal
#endif
