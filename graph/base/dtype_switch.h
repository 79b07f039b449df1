// SwitchAll: a run-time DType as a compile-time type.
//
//   return SwitchAll(x.dtype(), "x", [&](auto tag) -> absl::Status {
//     using T = typename decltype(tag)::type;
//     ...
//   });
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"
#include "graph/base/dtype_of.h"
#include "graph/base/error.h"

namespace ampc {

// Floats, integers and bool. `f` returns absl::Status or absl::StatusOr<U>. For another dtype (complex tensors are carried but never computed
// with) UnsupportedError, which begins with `what`.
template <typename F>
auto SwitchAll(DType dtype, absl::string_view what, F&& f) -> decltype(std::forward<F>(f)(Tag<float>{})) {
  switch (dtype) {
    case DType::kF32: return std::forward<F>(f)(Tag<float>{});
    case DType::kF16: return std::forward<F>(f)(Tag<Half>{});
    case DType::kBF16: return std::forward<F>(f)(Tag<BFloat16>{});
    case DType::kF64: return std::forward<F>(f)(Tag<double>{});
    case DType::kU8: return std::forward<F>(f)(Tag<uint8_t>{});
    case DType::kI8: return std::forward<F>(f)(Tag<int8_t>{});
    case DType::kI16: return std::forward<F>(f)(Tag<int16_t>{});
    case DType::kI32: return std::forward<F>(f)(Tag<int32_t>{});
    case DType::kI64: return std::forward<F>(f)(Tag<int64_t>{});
    case DType::kBool: return std::forward<F>(f)(Tag<bool>{});
    default:
      return UnsupportedError(absl::StrCat(what, ": dtype ", Name(dtype), " is not one of f32, f16, bf16, f64, u8, i8, i16, i32, i64, bool"));
  }
}

}  // namespace ampc
