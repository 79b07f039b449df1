// Element types of tensors. The enumerators are internal: formats map them to their own numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace ampc {

// The floats are neighbours. Numbers stay: program.proto and ampc.h have the same.
// clang-format off
enum class DType : uint8_t {
  kInvalid, kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64, kC64, kC128,
  kU16, kU32, kU64,
  kU4, kI4, kU2, kI2,                                                         // packed in files; a byte for each in memory
  kF8E4M3FN, kF8E4M3FNUZ, kF8E5M2, kF8E5M2FNUZ, kF8E8M0, kF4E2M1,  // small_float.h; f4e2m1 is packed as u4 is
};
// clang-format on

inline constexpr int kNumDTypes = 26;  // including kInvalid

size_t SizeOf(DType dtype);                                                                   // bytes per element in memory; 0 for kInvalid
int BitsOf(DType dtype);                                                                      // of an element in a file: 2, 4 or 8 * SizeOf
absl::string_view Name(DType dtype);                                                          // "f32"; "invalid" for kInvalid
absl::string_view LongName(DType dtype);                                                      // "float32"
constexpr bool IsFloat(DType dtype) { return dtype >= DType::kF16 && dtype <= DType::kF64; }  // f16, bf16, f32, f64
constexpr bool IsLowPrecision(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
constexpr bool IsSmallFloat(DType dtype) { return dtype >= DType::kF8E4M3FN; }  // of 8 bits or fewer: moved and cast, never computed with
constexpr bool IsPacked(DType dtype) { return (dtype >= DType::kU4 && dtype <= DType::kI2) || dtype == DType::kF4E2M1; }
bool IsInteger(DType dtype);  // signed and unsigned, of 2 to 64 bits; not bool
bool IsSignedInteger(DType dtype);
bool IsComplex(DType dtype);  // c64, c128

// Accepts the short name (f32), the long name (float32), fp16/fp32/fp64, and half, float, double, bfloat, int, long;
// lower case only; nullopt for everything else, "invalid" included.
std::optional<DType> ParseDType(absl::string_view text);

}  // namespace ampc
