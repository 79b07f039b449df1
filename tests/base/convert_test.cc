#include "graph/base/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graph/base/convert_internal.h"

namespace ampc {
namespace {

using convert_internal::Available;
using convert_internal::Functions;

// Bits of floats that sit on, next to and half way between 16-bit values, every upper half with telling lower halves.
std::vector<float> TellingFloats() {
  std::vector<float> floats;
  for (uint32_t upper = 0; upper < 65536; ++upper) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      floats.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 1 << 18; ++i) floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  return floats;
}

template <typename Low>
std::vector<Low> AllPatterns() {
  std::vector<Low> all;
  for (int bits = 0; bits < 65536; ++bits) all.push_back(Low::FromBits(static_cast<uint16_t>(bits)));
  return all;
}

template <typename Low>
void ExpectNarrow(void (*narrow)(const float*, Low*, size_t), const std::vector<float>& in) {
  std::vector<Low> out(in.size());
  narrow(in.data(), out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i].bits, Low(in[i]).bits) << std::hex << std::bit_cast<uint32_t>(in[i]);
}

template <typename Low>
void ExpectWiden(void (*widen)(const Low*, float*, size_t)) {
  const std::vector<Low> in = AllPatterns<Low>();
  std::vector<float> out(in.size());
  widen(in.data(), out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(static_cast<float>(in[i]))) << in[i].bits;
  }
}

template <typename Low>
void ExpectRound(void (*round)(float*, size_t), const std::vector<float>& in) {
  std::vector<float> out = in;
  round(out.data(), out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(static_cast<float>(Low(in[i])))) << i;
  }
}

class Convert : public testing::TestWithParam<const Functions*> {};

TEST_P(Convert, GivesTheBitsOfTheScalarConversion) {
  const std::vector<float> floats = TellingFloats();
  ExpectNarrow<Half>(GetParam()->f32_to_f16, floats);
  ExpectNarrow<BFloat16>(GetParam()->f32_to_bf16, floats);
  ExpectWiden<Half>(GetParam()->f16_to_f32);
  ExpectWiden<BFloat16>(GetParam()->bf16_to_f32);
  ExpectRound<Half>(GetParam()->round_f16, floats);
  ExpectRound<BFloat16>(GetParam()->round_bf16, floats);
}

// Every length around the vector widths, at an odd address: all elements converted, nothing written past the end.
TEST_P(Convert, HandlesEveryLengthAndStopsAtTheEnd) {
  std::vector<float> floats(80);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) * 1.0009765f + 0.3f;
  for (size_t n = 0; n <= 70; ++n) {
    std::vector<Half> half(80, Half::FromBits(0x1234));
    GetParam()->f32_to_f16(floats.data() + 1, half.data() + 1, n);
    std::vector<BFloat16> bfloat(80, BFloat16::FromBits(0x1234));
    GetParam()->f32_to_bf16(floats.data() + 1, bfloat.data() + 1, n);
    std::vector<float> from_half(80, -7), from_bfloat(80, -7), rounded_half = floats, rounded_bfloat = floats;
    GetParam()->f16_to_f32(half.data() + 1, from_half.data() + 1, n);
    GetParam()->bf16_to_f32(bfloat.data() + 1, from_bfloat.data() + 1, n);
    GetParam()->round_f16(rounded_half.data() + 1, n);
    GetParam()->round_bf16(rounded_bfloat.data() + 1, n);
    for (size_t i = 0; i < floats.size(); ++i) {
      const bool inside = i >= 1 && i <= n;
      ASSERT_EQ(half[i].bits, inside ? Half(floats[i]).bits : 0x1234) << n << " " << i;
      ASSERT_EQ(bfloat[i].bits, inside ? BFloat16(floats[i]).bits : 0x1234) << n << " " << i;
      ASSERT_EQ(from_half[i], inside ? static_cast<float>(Half(floats[i])) : -7) << n << " " << i;
      ASSERT_EQ(from_bfloat[i], inside ? static_cast<float>(BFloat16(floats[i])) : -7) << n << " " << i;
      ASSERT_EQ(rounded_half[i], inside ? static_cast<float>(Half(floats[i])) : floats[i]) << n << " " << i;
      ASSERT_EQ(rounded_bfloat[i], inside ? static_cast<float>(BFloat16(floats[i])) : floats[i]) << n << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllLevels, Convert, testing::ValuesIn(Available()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(ConvertPublic, UsesTheFastestImplementation) {
  const std::vector<float> in = {1.0f, 0x1p-25f, 70000.0f};
  Half half[3];
  F32ToF16(in.data(), half, 3);
  EXPECT_EQ(half[0].bits, 0x3c00);
  EXPECT_EQ(half[2].bits, 0x7c00);
  float back[3];
  F16ToF32(half, back, 3);
  EXPECT_EQ(back[0], 1.0f);
  BFloat16 bfloat[3];
  F32ToBF16(in.data(), bfloat, 3);
  BF16ToF32(bfloat, back, 3);
  EXPECT_EQ(back[2], 70144.0f);
  std::vector<float> data = in;
  RoundF32ToF16InPlace(data.data(), 3);
  EXPECT_EQ(data[1], 0.0f);
  data = in;
  RoundF32ToBF16InPlace(data.data(), 3);
  EXPECT_EQ(data[2], 70144.0f);
}

}  // namespace
}  // namespace ampc
