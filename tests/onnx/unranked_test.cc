// Operands whose rank is known only while the program runs: the same results as with a known one, beside scalars and vectors.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/session.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// A and B stand for the operands; t is a truth value for each element of `wide`.
constexpr const char* kSteps[] = {
    "y = onnx.Add.14(A, B)",
    "y = onnx.Pow.15(A, B)",
    "y = onnx.Mod.13(A, B) fmod=1l",
    "y = onnx.Greater.13(A, B)",
    "y = onnx.Equal.13(A, B)",
    "y = onnx.Max.13(data_0=[A, B, A])",
    "y = onnx.Sum.13(data_0=[A, B, B])",
    "y = onnx.Mean.13(data_0=[A, B])",
    "y = onnx.Where.16(t, A, B)",
    "y = onnx.Where.16(t, A, A)",
};
constexpr const char* kOperands[] = {"wide", "scalar", "vector"};

std::string WithStep(const std::string& head, const std::string& step) {
  return absl::StrCat(
      "feed x : f32 [2, 6]\nfeed shape : i64 [?]\nconst scalar : f32 [] = [1.5]\nconst vector : f32 [3] = [0.5, 2.0, 3.0]\n", head,
      "t = onnx.Greater.13(wide, scalar)\n", step, "\nfetch y\n");
}

TEST(Unranked, OperandsBesideScalarsAndVectors) {
  const TensorMap feeds = {{"x", F({2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 1.5, 1, 0.5, 2})}, {"shape", HostTensor::Of<int64_t>({3}, {2, 2, 3})}};
  for (const char* step : kSteps) {
    for (const char* a : kOperands) {
      for (const char* b : kOperands) {
        const std::string text = absl::StrReplaceAll(step, {{"A", a}, {"B", b}, {"onnx.Add", "onnx.Add"}});
        SCOPED_TRACE(text);
        ASSERT_OK_AND_ASSIGN(const Session known, FromText(WithStep("wide = reshape2(x) shape=[2, 2, 3]\n", text)));
        ASSERT_OK_AND_ASSIGN(TensorMap want, known.Run(feeds));
        absl::StatusOr<Session> open = FromText(WithStep("wide = onnx.Reshape.14(x, shape)\n", text));
        ASSERT_OK(open.status());
        ASSERT_OK_AND_ASSIGN(TensorMap found, open->Run(feeds));
        EXPECT_EQ(found.at("y"), want.at("y"));
      }
    }
  }
}

}  // namespace
}  // namespace ampc
