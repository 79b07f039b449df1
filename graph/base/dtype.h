// Element types of tensors. The enumerators are internal: formats map them to their own numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace ampc {

// The floats are neighbours.
enum class DType : uint8_t { kInvalid, kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64, kC64, kC128 };

inline constexpr int kNumDTypes = 13;  // including kInvalid

size_t SizeOf(DType dtype);                // bytes per element; 0 for kInvalid
absl::string_view Name(DType dtype);        // "f32"; "invalid" for kInvalid
absl::string_view LongName(DType dtype);    // "float32"
constexpr bool IsFloat(DType dtype) { return dtype >= DType::kF16 && dtype <= DType::kF64; }              // f16, bf16, f32, f64
constexpr bool IsLowPrecision(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
bool IsInteger(DType dtype);               // u8, i8, i16, i32, i64; not bool
bool IsComplex(DType dtype);               // c64, c128

// Accepts the short name (f32), the long name (float32), fp16/fp32/fp64, and half, float, double, bfloat, int, long;
// lower case only; nullopt for everything else, "invalid" included.
std::optional<DType> ParseDType(absl::string_view text);

}  // namespace ampc
