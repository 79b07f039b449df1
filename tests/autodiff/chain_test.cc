// Programs of a hundred thousand ops: the work is linear.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/op_registry.h"
#include "graph/program.h"
#include "graph/verify.h"
#include "passes/append_op.h"
#include "passes/autodiff/append_backward.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

// Each tenth value is read by two ops, so that its gradient is a sum; a weight is read by all of those.
TEST(AppendBackward, IsLinearInALongChain) {
  constexpr int kOps = 100'000;
  ASSERT_NE(Ops().Find("tanh_grad"), nullptr);
  Program program;
  Block& block = program.main();
  const TensorType type(DType::kF32, {1});
  Var* weight = block.AddVar("w", VarKind::kParam, type);
  weight->trainable = true;
  Var* at = block.AddVar("x", VarKind::kFeed, type);
  program.feeds = {at};
  int sums = 0;
  for (int i = 0; i < kOps; ++i) {
    const bool add = i % 10 == 0;
    Var* next = NewTemp(block, absl::StrCat("t", i));
    const SlotVars operands = add ? SlotVars{{"X", {at}}, {"Y", {weight}}} : SlotVars{{"X", {at}}};
    ASSERT_OK(AppendOp(block, add ? "elementwise_add" : "tanh", operands, {{"Out", {next}}}, {}, kRoleForward));
    if (add) ++sums;
    at = next;
  }
  const auto start = std::chrono::steady_clock::now();
  ASSERT_OK_AND_ASSIGN(const std::vector<VarGradient> gradients, AppendBackward(program, *at));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("seconds", absl::StrCat(seconds));
  ASSERT_EQ(gradients.size(), 1u);
  ASSERT_EQ(gradients[0].gradient->name(), "w@GRAD");
  const Op& last = *block.ops().back();
  EXPECT_EQ(last.type(), "sum");
  EXPECT_EQ(static_cast<int>(last.inputs().size()), sums);
  EXPECT_EQ(last.inputs()[1]->name(), "w@GRAD@RENAME@block0@1");
  EXPECT_EQ(static_cast<int>(block.ops().size()), 2 * kOps + 2);  // the seed and the sum
  EXPECT_OK(Verify(program));
  EXPECT_LT(seconds, 30) << "a second is normal";
}

}  // namespace
}  // namespace ampc::testing
