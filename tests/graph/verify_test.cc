// Programs that text cannot spell: the parser refuses them. Everything else is in tests/text/verifier.case.
#include "graph/verify.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "graph/op_registry.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using testing::StatusIs;

const TensorType kType(DType::kF32, {4});

Op* Relu(Block& block, Var* x, Var* out) {
  std::unique_ptr<Op> op = block.NewOp(Ops().Find("relu"));
  op->SetInputs(0, {&x, 1});
  op->SetOutputs(0, {&out, 1});
  return block.Append(std::move(op));
}

// feed x, flag; carry c; c <- relu(x); c <- conditional_block(flag, x) with c <- relu(x) in its block.
struct Conditional {
  Conditional() {
    Block& main = program.main();
    x = main.AddVar("x", VarKind::kFeed, kType);
    flag = main.AddVar("flag", VarKind::kFeed, TensorType(DType::kBool, {1}));
    program.feeds = {x, flag};
    c = main.AddVar("c", VarKind::kCarry, kType);
    body = &program.AddBlock(0, "body");
    Relu(main, x, c);
    Relu(*body, x, c);
    std::unique_ptr<Op> op = main.NewOp(Ops().Find("conditional_block"));
    op->SetInputs(op->def().InputSlot("Cond"), {&flag, 1});
    op->SetInputs(op->def().InputSlot("Input"), {&x, 1});
    op->SetOutputs(op->def().OutputSlot("Out"), {&c, 1});
    op->SetAttr("is_scalar_condition", true);
    op->SetAttr("sub_block", BlockRef{1});
    control = main.Append(std::move(op));
    program.fetches = {c};
  }
  Program program;
  Var *x, *flag, *c;
  Block* body;
  Op* control;
};

TEST(Verify, TakesTheConditional) { EXPECT_OK(Verify(Conditional().program)); }

TEST(Verify, NamesHideNothingOutside) {
  Conditional p;
  Var* inner = p.body->AddVar("x", VarKind::kTemp, kType);
  Relu(*p.body, p.x, inner);
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "block 'body': the name 'x' is used twice"));
}

TEST(Verify, NamesAreUniqueInABlock) {
  Conditional p;
  p.program.main().AddVar("x", VarKind::kTemp, kType);
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "block 'main': the name 'x' is used twice"));
}

TEST(Verify, BlocksHaveNamesOfTheirOwn) {
  Conditional p;
  p.program.AddBlock(0, "body");
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "two blocks are named 'body'"));
}

TEST(Verify, AParentStandsInFront) {
  Conditional p;
  p.program.AddBlock(3, "late");
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "block 'late' has the parent 3, needs a block in front of it"));
}

TEST(Verify, AnOpRefersToABlockOfTheProgram) {
  Conditional p;
  p.control->SetAttr("sub_block", BlockRef{7});
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "op 'conditional_block' -> 'c': refers to block 7, the program has 2"));
}

TEST(Verify, ABlockDoesNotSeeInsideAnother) {
  Conditional p;
  Var* inner = p.body->AddVar("inner", VarKind::kTemp, kType);
  Relu(*p.body, p.x, inner);
  Relu(p.program.main(), inner, p.program.main().AddVar("y", VarKind::kTemp, kType));
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "op 'relu' -> 'y': operand 'inner' belongs to a block that it cannot see"));
}

TEST(Verify, ATempIsDefinedOnceAndInItsBlock) {
  Conditional p;
  Var* y = p.program.main().AddVar("y", VarKind::kTemp, kType);
  Relu(p.program.main(), p.x, y);
  EXPECT_OK(Verify(p.program));
  Relu(p.program.main(), p.x, y);
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "op 'relu' -> 'y': defines 'y' a second time"));
  Conditional q;
  Relu(*q.body, q.x, q.program.main().AddVar("y", VarKind::kTemp, kType));
  EXPECT_THAT(Verify(q.program), StatusIs(ExitCode::kBadInput, "op 'relu' -> 'y': defines 'y' of another block"));
}

TEST(Verify, FeedsAndConstsAreNotWritten) {
  Conditional p;
  Relu(p.program.main(), p.c, p.x);
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "op 'relu' -> 'x': writes the feed 'x'"));
}

TEST(Verify, TheSignatureFeedsFeeds) {
  Conditional p;
  p.program.feeds.push_back(p.c);
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "the signature feeds 'c', which is a carry, not a feed of the main block"));
}

TEST(Verify, ALiteralHasItsDeclaredType) {
  Conditional p;
  Var* var = p.program.main().AddVar("k", VarKind::kConst, kType);
  var->literal = std::make_shared<HostTensor>(HostTensor::Of<float>({2}, {1, 2}));
  EXPECT_THAT(Verify(p.program), StatusIs(ExitCode::kBadInput, "const 'k' is declared f32 [4], its value is f32 [2]"));
}

}  // namespace
}  // namespace ampc
