// Assertions for absl::Status and absl::StatusOr; Debian's Abseil has no matchers.
//
//   ASSERT_OK(Verify(program));
//   ASSERT_OK_AND_ASSIGN(Program program, ParseProgram(text));
//   EXPECT_THAT(ParseProgram("x"), StatusIs(ExitCode::kBadInput, HasSubstr("needed 'program'")));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/error.h"

namespace ampc::testing {

inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "is an error" : "is ok") {
  const absl::Status status = StatusOf(arg);
  *result_listener << "which is " << status.ToString();
  return status.ok();
}

// The category of the error and a matcher for (or the whole of) its message.
MATCHER_P2(StatusIs, exit_code, message, "is an error with exit code " + std::to_string(static_cast<int>(exit_code))) {
  const absl::Status status = StatusOf(arg);
  *result_listener << "which is " << status.ToString() << " with exit code " << static_cast<int>(ExitCodeOf(status)) << ' ';
  return ExitCodeOf(status) == exit_code &&
         ::testing::ExplainMatchResult(::testing::MatcherCast<std::string>(message), std::string(status.message()), result_listener);
}

}  // namespace ampc::testing

#define ASSERT_OK(...) ASSERT_THAT((__VA_ARGS__), ::ampc::testing::IsOk())
#define EXPECT_OK(...) EXPECT_THAT((__VA_ARGS__), ::ampc::testing::IsOk())

#define ASSERT_OK_AND_ASSIGN(lhs, ...) AMPC_TEST_ASSIGN_(AMPC_TEST_CONCAT_(ampc_test_result_, __COUNTER__), lhs, __VA_ARGS__)
#define AMPC_TEST_ASSIGN_(result, lhs, ...)               \
  auto result = (__VA_ARGS__);                            \
  ASSERT_TRUE(result.ok()) << result.status().ToString(); \
  lhs = *std::move(result)
#define AMPC_TEST_CONCAT_(a, b) AMPC_TEST_CONCAT_INNER_(a, b)
#define AMPC_TEST_CONCAT_INNER_(a, b) a##b
