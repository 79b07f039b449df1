// Floats of 8 bits and fewer as storage types: no arithmetic, only explicit conversions, rounded to nearest even. A type with "FN" has no
// infinities, one with "UZ" no negative zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ampc {

enum class NanCode : uint8_t {
  kNone,          // every code is a number
  kLast,          // the last code of each sign: FN
  kIeee,          // the last exponent: infinity, then NaN
  kNegativeZero,  // the code that would be -0: FNUZ
};

template <int kExponentBits, int kMantissaBits, int kBias, NanCode kNan>
struct SmallFloat {
  uint8_t bits = 0;

  constexpr SmallFloat() = default;
  explicit SmallFloat(float value) : SmallFloat(Rounded(value, true)) {}
  explicit operator float() const;
  static constexpr SmallFloat FromBits(uint8_t bits) {
    SmallFloat value;
    value.bits = bits;
    return value;
  }
  // Beyond the largest number, infinity included: that number if `saturate` or if there is nothing else, otherwise infinity or else NaN.
  static SmallFloat Rounded(float value, bool saturate);

 private:
  static constexpr int kSign = 1 << (kExponentBits + kMantissaBits);
  static constexpr int kInfinity = kSign - (1 << kMantissaBits);  // IEEE
  static constexpr int kLargest = kNan == NanCode::kIeee ? kInfinity - 1 : kNan == NanCode::kLast ? kSign - 2 : kSign - 1;
  static constexpr int kNotANumber = kNan == NanCode::kIeee ? kInfinity + (1 << (kMantissaBits - 1)) : kSign - 1;
};

// A power of two, 2^(bits - 127); 255 is NaN. There is no sign and no zero.
struct ScaleFloat {
  enum class Mode : uint8_t { kUp, kDown, kNearest };  // away from zero, toward zero, to nearest with ties up

  uint8_t bits = 0;

  constexpr ScaleFloat() = default;
  explicit ScaleFloat(float value) : ScaleFloat(Rounded(value, true, Mode::kUp)) {}
  explicit operator float() const { return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, bits - 127); }
  static constexpr ScaleFloat FromBits(uint8_t bits) {
    ScaleFloat value;
    value.bits = bits;
    return value;
  }
  // Of the magnitude. Out of range: the nearest power if `saturate`, otherwise NaN.
  static ScaleFloat Rounded(float value, bool saturate, Mode mode);
};

using Float8E4M3FN = SmallFloat<4, 3, 7, NanCode::kLast>;
using Float8E4M3FNUZ = SmallFloat<4, 3, 8, NanCode::kNegativeZero>;
using Float8E5M2 = SmallFloat<5, 2, 15, NanCode::kIeee>;
using Float8E5M2FNUZ = SmallFloat<5, 2, 16, NanCode::kNegativeZero>;
using Float4E2M1 = SmallFloat<2, 1, 1, NanCode::kNone>;

template <int kExponentBits, int kMantissaBits, int kBias, NanCode kNan>
SmallFloat<kExponentBits, kMantissaBits, kBias, kNan>::operator float() const {
  const int magnitude = bits & (kSign - 1), exponent = magnitude >> kMantissaBits, mantissa = magnitude & ((1 << kMantissaBits) - 1);
  const bool negative = (bits & kSign) != 0;
  float value = 0;
  if (kNan == NanCode::kNegativeZero && bits == kSign) return std::numeric_limits<float>::quiet_NaN();
  if ((kNan == NanCode::kLast || kNan == NanCode::kIeee) && magnitude > kLargest) {
    value =
        kNan == NanCode::kIeee && magnitude == kInfinity ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissaBits);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + (1 << kMantissaBits)), exponent - kBias - kMantissaBits);
  }
  return negative ? -value : value;
}

template <int kExponentBits, int kMantissaBits, int kBias, NanCode kNan>
SmallFloat<kExponentBits, kMantissaBits, kBias, kNan> SmallFloat<kExponentBits, kMantissaBits, kBias, kNan>::Rounded(float value,
                                                                                                                     bool saturate) {
  const int sign = std::signbit(value) ? kSign : 0;
  const auto code = [](int c) { return FromBits(static_cast<uint8_t>(c)); };
  if (std::isnan(value))
    return kNan == NanCode::kNone ? code(sign | kLargest) : kNan == NanCode::kNegativeZero ? code(kSign) : code(sign | kNotANumber);
  int magnitude = kLargest + 1;
  if (std::isfinite(value) && value != 0) {
    const double v = std::fabs(static_cast<double>(value));
    const int exponent = std::max(std::ilogb(v), 1 - kBias);
    const double units = std::ldexp(v, kMantissaBits - exponent), whole = std::floor(units), rest = units - whole;
    const auto steps = static_cast<int64_t>(whole) + ((rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)) ? 1 : 0);
    const int64_t number = (static_cast<int64_t>(exponent + kBias) << kMantissaBits) + steps - (1 << kMantissaBits);
    magnitude = static_cast<int>(std::min<int64_t>(number, kLargest + 1));
  } else if (value == 0) {
    magnitude = 0;
  }
  if (magnitude > kLargest) {
    if (saturate || kNan == NanCode::kNone) return code(sign | kLargest);
    return kNan == NanCode::kIeee ? code(sign | kInfinity) : kNan == NanCode::kNegativeZero ? code(kSign) : code(sign | kNotANumber);
  }
  return code(kNan == NanCode::kNegativeZero && magnitude == 0 ? 0 : sign | magnitude);
}

inline ScaleFloat ScaleFloat::Rounded(float value, bool saturate, Mode mode) {
  if (std::isnan(value)) return FromBits(255);
  const float v = std::fabs(value);
  if (v < 0x1p-127f || v > 0x1p127f) return FromBits(!saturate ? 255 : v > 1 ? 254 : 0);
  const int exponent = std::ilogb(v);
  const float power = std::ldexp(1.0f, exponent);
  const bool up = mode == Mode::kUp ? v > power : mode == Mode::kNearest && v >= 1.5f * power;
  return FromBits(static_cast<uint8_t>(exponent + 127 + (up ? 1 : 0)));
}

}  // namespace ampc
