// bfloat16 (the upper half of a float) as a storage type: no arithmetic, only explicit conversions. Conversion from float rounds
// to nearest even (subnormals included, overflow to infinity) and keeps a NaN (sign and upper payload bits, always quiet).
#pragma once

#include <bit>
#include <cstdint>

namespace ampc {

struct BFloat16 {
  uint16_t bits = 0;

  constexpr BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(FromFloat(value)) {}
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static constexpr BFloat16 FromBits(uint16_t bits) {
    BFloat16 value;
    value.bits = bits;
    return value;
  }

  static constexpr uint16_t FromFloat(float value) {
    const uint32_t f = std::bit_cast<uint32_t>(value);
    if ((f & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((f >> 16) | 0x40u);
    return static_cast<uint16_t>((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
  }
};
static_assert(sizeof(BFloat16) == 2);

}  // namespace ampc
