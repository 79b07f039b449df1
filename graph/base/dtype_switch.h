// The one place that turns a run-time DType into a compile-time type.
//
//   return SwitchFloat(x.dtype(), "softmax", [&](auto tag) -> absl::Status {
//     using T = typename decltype(tag)::type;
//     ...
//   });
//
// `f` returns absl::Status or absl::StatusOr<U>. A dtype outside the list gives UnsupportedError: the op, the dtype, what works.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"
#include "graph/base/dtype_of.h"
#include "graph/base/error.h"

namespace ampc {
namespace dtype_switch_internal {

inline absl::Status Refuse(DType dtype, absl::string_view op, absl::string_view list) {
  return UnsupportedError(absl::StrCat(op, ": dtype ", Name(dtype), " is not one of ", list));
}

}  // namespace dtype_switch_internal

#define AMPC_DTYPE_CASE_(dtype, T) \
  case DType::dtype: return std::forward<F>(f)(Tag<T>{});
#define AMPC_FLOAT_CASES_ \
  AMPC_DTYPE_CASE_(kF32, float) AMPC_DTYPE_CASE_(kF16, Half) AMPC_DTYPE_CASE_(kBF16, BFloat16) AMPC_DTYPE_CASE_(kF64, double)
#define AMPC_INTEGER_CASES_                                                                    \
  AMPC_DTYPE_CASE_(kU8, uint8_t) AMPC_DTYPE_CASE_(kI8, int8_t) AMPC_DTYPE_CASE_(kI16, int16_t) \
  AMPC_DTYPE_CASE_(kI32, int32_t) AMPC_DTYPE_CASE_(kI64, int64_t)

// f32, f16, bf16, f64
template <typename F>
auto SwitchFloat(DType dtype, absl::string_view op, F&& f) -> decltype(std::forward<F>(f)(Tag<float>{})) {
  switch (dtype) {
    AMPC_FLOAT_CASES_
    default: return dtype_switch_internal::Refuse(dtype, op, "f32, f16, bf16, f64");
  }
}

// u8, i8, i16, i32, i64
template <typename F>
auto SwitchInteger(DType dtype, absl::string_view op, F&& f) -> decltype(std::forward<F>(f)(Tag<int32_t>{})) {
  switch (dtype) {
    AMPC_INTEGER_CASES_
    default: return dtype_switch_internal::Refuse(dtype, op, "u8, i8, i16, i32, i64");
  }
}

// Floats and integers, not bool.
template <typename F>
auto SwitchNumeric(DType dtype, absl::string_view op, F&& f) -> decltype(std::forward<F>(f)(Tag<float>{})) {
  switch (dtype) {
    AMPC_FLOAT_CASES_
    AMPC_INTEGER_CASES_
    default: return dtype_switch_internal::Refuse(dtype, op, "f32, f16, bf16, f64, u8, i8, i16, i32, i64");
  }
}

// Floats, integers and bool. Complex tensors are carried by formats but never computed with.
template <typename F>
auto SwitchAll(DType dtype, absl::string_view op, F&& f) -> decltype(std::forward<F>(f)(Tag<float>{})) {
  switch (dtype) {
    AMPC_FLOAT_CASES_
    AMPC_INTEGER_CASES_
    AMPC_DTYPE_CASE_(kBool, bool)
    default: return dtype_switch_internal::Refuse(dtype, op, "f32, f16, bf16, f64, u8, i8, i16, i32, i64, bool");
  }
}

#undef AMPC_INTEGER_CASES_
#undef AMPC_FLOAT_CASES_
#undef AMPC_DTYPE_CASE_

}  // namespace ampc
