// The one place where a run-time DType becomes a compile-time type: a list of types says which a piece of code is written for.
//
//   const RunFn run = Select<Numbers>(dtype, [](auto tag) -> RunFn { return &Run<typename decltype(tag)::type>; });
//   if (run == nullptr) return Unsupported(...);
//
//   return SwitchAll(x.dtype(), "x", [&](auto tag) -> absl::Status {
//     using T = typename decltype(tag)::type;
//     ...
//   });
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"
#include "graph/base/dtype_of.h"
#include "graph/base/error.h"

namespace ampc {

template <typename... T>
struct Types {
  static constexpr bool Contains(DType dtype) { return ((kDTypeOf<T> == dtype) || ...); }
  template <typename... More>
  using With = Types<T..., More...>;
};

template <typename... T>
std::array<DType, sizeof...(T)> DTypesOf(Types<T...>) {
  return {kDTypeOf<T>...};
}

// The types of arithmetic: halves are read and written as floats.
using Reals = Types<float, double>;
using Integers = Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
using Numbers = Types<float, double, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
using IntegersAndBool = Integers::With<bool>;
using NumbersAndBool = Numbers::With<bool>;
using AllTypes = NumbersAndBool::With<Half, BFloat16>;  // but complex ones and the small ones: what IsPacked or IsSmallFloat
using StoredTypes = AllTypes::With<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, ScaleFloat, Float4E2M1>;

namespace dtype_switch_internal {

template <typename F, typename First, typename... Rest>
auto Select(Types<First, Rest...>, DType dtype, F& f) -> decltype(f(Tag<First>{})) {
  using R = decltype(f(Tag<First>{}));
  if (dtype == kDTypeOf<First>) return f(Tag<First>{});
  if constexpr (sizeof...(Rest) > 0) {
    return Select(Types<Rest...>{}, dtype, f);
  } else if constexpr (std::is_void_v<R>) {
    return;
  } else {
    return R{};
  }
}

template <typename... T>
std::string Names(Types<T...>) {
  std::string names;
  (absl::StrAppend(&names, names.empty() ? "" : ", ", Name(kDTypeOf<T>)), ...);
  return names;
}

}  // namespace dtype_switch_internal

// f(Tag<T>{}) for the type of `dtype` when `List` has it; otherwise an empty value of what f returns: null, false, absent.
template <typename List, typename F>
auto Select(DType dtype, F&& f) {
  return dtype_switch_internal::Select(List{}, dtype, f);
}

// `f` returns absl::Status or absl::StatusOr<U>. For a type that AllTypes does not have (others are carried and cast but never computed
// with) UnsupportedError, which begins with `what`.
template <typename F>
auto SwitchAll(DType dtype, absl::string_view what, F&& f) -> decltype(f(Tag<float>{})) {
  if (!AllTypes::Contains(dtype)) {
    return UnsupportedError(absl::StrCat(what, ": dtype ", Name(dtype), " is not one of ", dtype_switch_internal::Names(AllTypes{})));
  }
  return dtype_switch_internal::Select(AllTypes{}, dtype, f);
}

}  // namespace ampc
