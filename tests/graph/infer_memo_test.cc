// Inference over many ops asks each question once, and none that differs is taken for one that was asked.
#include "graph/infer_memo.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "graph/infer_context.h"
#include "graph/program.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

int asked = 0;

// As many f32 as the attribute says.
absl::Status Infer(InferContext& ctx) {
  ++asked;
  if (ctx.In("X").dtype != DType::kF32) return ctx.Error("no f32", "op.c1");
  ctx.Out("Out", TensorType(DType::kF32, {ctx.op().GetInt("n")}));
  return absl::OkStatus();
}

class InferMemoTest : public ::testing::Test {
 protected:
  InferMemoTest() : def_("op") { def_.In("X").OptIn("Y").Out("Out").A("n", int64_t{1}).A("body", BlockRef{}).Infer(&Infer); }

  struct Change {
    TensorType x = TensorType(DType::kF32, {4});
    TensorType out = TensorType::Unranked(DType::kInvalid);
    VarKind kind = VarKind::kTemp;
    int64_t n = 3;
    std::shared_ptr<const HostTensor> literal = nullptr;
    bool two = false, block = false;
  };
  const Op& Add(const Change& change) {
    Block& main = program_.main();
    Var* x = main.AddVar(main.UniqueName("x"), change.kind, change.x);
    Var* out = main.AddVar(main.UniqueName("out"), VarKind::kTemp, change.out);
    x->literal = change.literal;
    std::unique_ptr<Op> op = main.NewOp(&def_);
    op->SetInputs(0, {x});
    if (change.two) op->SetInputs(1, {x});
    op->SetOutputs(0, {out});
    op->SetAttr("n", change.n);
    if (change.block) op->SetAttr("body", BlockRef{0});
    return *main.Append(std::move(op));
  }
  // How often inference runs for an op like the plain one but for the change, right behind the plain one.
  int AskedFor(const Change& change) {
    InferMemo memo;
    EXPECT_TRUE(memo.Infer(Add({})).ok());
    asked = 0;
    const auto answer = memo.Infer(Add(change));
    EXPECT_TRUE(answer.ok());
    EXPECT_EQ((**answer)[0], TensorType(DType::kF32, {change.n}));
    return asked;
  }

  OpDef def_;
  Program program_;
};

TEST_F(InferMemoTest, TheSameQuestionIsAskedOnce) { EXPECT_EQ(AskedFor({}), 0); }

TEST_F(InferMemoTest, AnotherQuestionIsAsked) {
  EXPECT_EQ(AskedFor({.x = TensorType(DType::kF32, {5})}), 1);
  EXPECT_EQ(AskedFor({.out = TensorType::Unranked(DType::kF32)}), 1);
  EXPECT_EQ(AskedFor({.kind = VarKind::kFeed}), 1);
  EXPECT_EQ(AskedFor({.n = 7}), 1);
  EXPECT_EQ(AskedFor({.literal = std::make_shared<const HostTensor>()}), 1);
  EXPECT_EQ(AskedFor({.two = true}), 1);
  EXPECT_EQ(AskedFor({.block = true}), 1);
}

// The ops of a block count, too, and the memo does not look there.
TEST_F(InferMemoTest, OpsWithBlocksAreAlwaysAsked) {
  InferMemo memo;
  ASSERT_OK(memo.Infer(Add({.block = true})).status());
  asked = 0;
  ASSERT_OK(memo.Infer(Add({.block = true})).status());
  EXPECT_EQ(asked, 1);
}

// The types as they were when the question was asked.
TEST_F(InferMemoTest, LaterTypesOfAnEarlierOpDoNotCount) {
  InferMemo memo;
  const Op& first = Add({});
  ASSERT_OK(memo.Infer(first).status());
  first.outputs()[0]->type = TensorType(DType::kF32, {3});
  asked = 0;
  ASSERT_OK(memo.Infer(Add({})).status());
  EXPECT_EQ(asked, 0);
}

TEST_F(InferMemoTest, AnErrorIsNoAnswer) {
  InferMemo memo;
  const Change wrong = {.x = TensorType(DType::kF16, {4})};
  EXPECT_FALSE(memo.Infer(Add(wrong)).ok());
  EXPECT_FALSE(memo.Infer(Add(wrong)).ok());
  EXPECT_OK(memo.Infer(Add({})).status());
}

}  // namespace
}  // namespace ampc
