// Propagation macros for absl::Status and absl::StatusOr.
//
//   AMPC_RETURN_IF_ERROR(Check(x));
//   AMPC_ASSIGN_OR_RETURN(Program program, Load(path));   // declares
//   AMPC_ASSIGN_OR_RETURN(program, Load(path));           // assigns
//   AMPC_ASSIGN_OR_RETURN((auto [a, b]), Pair());         // parentheses protect commas
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Evaluates `expr` (an absl::Status) once and returns it from the enclosing function unless it is ok.
// The enclosing function may return absl::Status or any absl::StatusOr<T>.
#define AMPC_RETURN_IF_ERROR(...)                                          \
  do {                                                                     \
    if (::absl::Status ampc_status_ = (__VA_ARGS__); !ampc_status_.ok()) { \
      return ampc_status_;                                                 \
    }                                                                      \
  } while (false)

// Evaluates an absl::StatusOr<T> once; returns its status on error, otherwise moves the value into `lhs`.
// It expands to several statements, so it cannot be the body of an `if` without braces.
#define AMPC_ASSIGN_OR_RETURN(lhs, ...) AMPC_ASSIGN_OR_RETURN_IMPL_(AMPC_CONCAT_(ampc_status_or_, __COUNTER__), lhs, __VA_ARGS__)

#define AMPC_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, ...) \
  auto tmp = (__VA_ARGS__);                        \
  if (!tmp.ok()) return std::move(tmp).status();   \
  AMPC_UNPAREN_(lhs) = *std::move(tmp)

#define AMPC_CONCAT_(a, b) AMPC_CONCAT_INNER_(a, b)
#define AMPC_CONCAT_INNER_(a, b) a##b

// Strips one pair of parentheses when there is one: (auto [a, b]) -> auto [a, b].
#define AMPC_UNPAREN_(x) AMPC_UNPAREN_PASTE_(AMPC_UNPAREN_MARK_ x)
#define AMPC_UNPAREN_MARK_(...) AMPC_UNPAREN_MARK_ __VA_ARGS__
#define AMPC_UNPAREN_PASTE_(...) AMPC_UNPAREN_VANISH_(__VA_ARGS__)
#define AMPC_UNPAREN_VANISH_(...) AMPC_UNPAREN_NO_##__VA_ARGS__
#define AMPC_UNPAREN_NO_AMPC_UNPAREN_MARK_
