// IEEE 754 binary16 as a storage type: no arithmetic, only explicit conversions. Conversion from float rounds to nearest even,
// produces subnormals and infinities, and keeps a NaN (sign and upper payload bits, always quiet). The scalar code here defines
// the bits; graph/base/convert.h produces the same bits for whole arrays.
#pragma once

#include <bit>
#include <cstdint>

namespace ampc {

struct Half {
  uint16_t bits = 0;

  constexpr Half() = default;
  constexpr explicit Half(float value) : bits(FromFloat(value)) {}
  constexpr explicit operator float() const { return ToFloat(bits); }
  static constexpr Half FromBits(uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }

  static constexpr uint16_t FromFloat(float value);
  static constexpr float ToFloat(uint16_t bits);
};
static_assert(sizeof(Half) == 2);

constexpr uint16_t Half::FromFloat(float value) {
  const uint32_t f = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((f >> 16) & 0x8000u);
  const uint32_t magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
  if (magnitude >= 0x38800000u) {                                              // normal: rebias by 15 - 127
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
  if (magnitude < 0x33000000u) return sign;  // below 2^-25, half of the least subnormal
  const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t shift = 126u - (magnitude >> 23);  // 14 .. 24: counts units of 2^-24
  const uint32_t odd = (mantissa >> shift) & 1u;
  return static_cast<uint16_t>(sign | ((mantissa + (1u << (shift - 1)) - 1u + odd) >> shift));
}

constexpr float Half::ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1fu) {
    const uint32_t quiet = mantissa == 0 ? 0u : 0x400000u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

}  // namespace ampc
