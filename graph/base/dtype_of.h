// The C++ type of each DType and back, the accumulator type of each, and Tag<T>, which carries a type into a generic lambda.
#pragma once

#include <complex>
#include <cstdint>

#include "graph/base/bfloat16.h"
#include "graph/base/dtype.h"
#include "graph/base/half.h"
#include "graph/base/small_float.h"

namespace ampc {

// kDTypeOf<float> == DType::kF32; kInvalid for a type that is no element type.
template <typename T>
inline constexpr DType kDTypeOf = DType::kInvalid;
// clang-format off
template <> inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <> inline constexpr DType kDTypeOf<uint8_t> = DType::kU8;
template <> inline constexpr DType kDTypeOf<int8_t> = DType::kI8;
template <> inline constexpr DType kDTypeOf<int16_t> = DType::kI16;
template <> inline constexpr DType kDTypeOf<int32_t> = DType::kI32;
template <> inline constexpr DType kDTypeOf<int64_t> = DType::kI64;
template <> inline constexpr DType kDTypeOf<uint16_t> = DType::kU16;
template <> inline constexpr DType kDTypeOf<uint32_t> = DType::kU32;
template <> inline constexpr DType kDTypeOf<uint64_t> = DType::kU64;
template <> inline constexpr DType kDTypeOf<Half> = DType::kF16;
template <> inline constexpr DType kDTypeOf<BFloat16> = DType::kBF16;
template <> inline constexpr DType kDTypeOf<float> = DType::kF32;
template <> inline constexpr DType kDTypeOf<double> = DType::kF64;
template <> inline constexpr DType kDTypeOf<std::complex<float>> = DType::kC64;
template <> inline constexpr DType kDTypeOf<std::complex<double>> = DType::kC128;
template <> inline constexpr DType kDTypeOf<Float8E4M3FN> = DType::kF8E4M3FN;
template <> inline constexpr DType kDTypeOf<Float8E4M3FNUZ> = DType::kF8E4M3FNUZ;
template <> inline constexpr DType kDTypeOf<Float8E5M2> = DType::kF8E5M2;
template <> inline constexpr DType kDTypeOf<Float8E5M2FNUZ> = DType::kF8E5M2FNUZ;
template <> inline constexpr DType kDTypeOf<ScaleFloat> = DType::kF8E8M0;
template <> inline constexpr DType kDTypeOf<Float4E2M1> = DType::kF4E2M1;
// clang-format on

// Type in which sums and products of T are kept: float for Half and BFloat16, int64_t for integers (u64: itself), T otherwise.
// clang-format off
template <typename T> struct AccOf { using type = T; };
template <> struct AccOf<Half> { using type = float; };
template <> struct AccOf<BFloat16> { using type = float; };
template <> struct AccOf<bool> { using type = int64_t; };
template <> struct AccOf<uint8_t> { using type = int64_t; };
template <> struct AccOf<int8_t> { using type = int64_t; };
template <> struct AccOf<uint16_t> { using type = int64_t; };
template <> struct AccOf<uint32_t> { using type = int64_t; };
template <> struct AccOf<int16_t> { using type = int64_t; };
template <> struct AccOf<int32_t> { using type = int64_t; };
// clang-format on
template <typename T>
using Acc = typename AccOf<T>::type;

// [](auto tag) { using T = typename decltype(tag)::type; ... }
template <typename T>
struct Tag {
  using type = T;
  static constexpr DType dtype = kDTypeOf<T>;
};

}  // namespace ampc
