#include "graph/base/status_macros.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace ampc {
namespace {

absl::StatusOr<std::pair<int, int>> PairOr(bool ok) {
  if (!ok) return absl::NotFoundError("no pair");
  return std::pair{1, 2};
}

absl::StatusOr<std::string> Sum(bool first_ok, bool second_ok) {
  AMPC_ASSIGN_OR_RETURN((auto [a, b]), PairOr(first_ok));
  int c = 0;
  AMPC_ASSIGN_OR_RETURN(c, absl::StatusOr<int>(3));
  AMPC_RETURN_IF_ERROR(second_ok ? absl::OkStatus() : absl::InternalError("second"));
  return std::to_string(a + b + c);
}

TEST(StatusMacros, PassValuesThrough) { EXPECT_EQ(*Sum(true, true), "6"); }

TEST(StatusMacros, ReturnTheFirstErrorUnchanged) {
  EXPECT_EQ(Sum(false, false).status(), absl::NotFoundError("no pair"));
  EXPECT_EQ(Sum(true, false).status(), absl::InternalError("second"));
}

absl::Status EvaluateOnce(int* count) {
  AMPC_RETURN_IF_ERROR((++*count, absl::OkStatus()));
  AMPC_ASSIGN_OR_RETURN(const int unused, (++*count, absl::StatusOr<int>(1)));
  return unused == 1 ? absl::OkStatus() : absl::InternalError("");
}

TEST(StatusMacros, EvaluateTheirArgumentOnce) {
  int count = 0;
  EXPECT_TRUE(EvaluateOnce(&count).ok());
  EXPECT_EQ(count, 2);
}

absl::StatusOr<std::unique_ptr<int>> MoveOnly() {
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<int> p, absl::StatusOr<std::unique_ptr<int>>(std::make_unique<int>(7)));
  return p;
}

TEST(StatusMacros, MoveTheValue) { EXPECT_EQ(**MoveOnly(), 7); }

}  // namespace
}  // namespace ampc
