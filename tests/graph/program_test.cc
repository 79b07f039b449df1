// Copies of programs.
#include <gtest/gtest.h>

#include "graph/program.h"
#include "graph/text/parser.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "graph/without_blocks.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// Two branches; the second one has a loop inside.
constexpr char kBranches[] = R"(program p version=1

block main {
  feed x : f32 [4]
  feed flag : bool [1]
  carry y : f32 [4]
  carry z : f32 [4]
  y <- conditional_block(Cond=flag, Input=x) is_scalar_condition=true sub_block=&first
  z <- conditional_block(Cond=flag, Input=x) is_scalar_condition=true sub_block=&second
  r = relu(z) : f32 [4]
  fetch r
}

block first parent=main {
  y <- assign(x)
}

block second parent=main {
  carry more : bool [1]
  more <- assign(flag)
  z, more <- while(X=x, Condition=more) sub_block=&third
}

block third parent=second {
  z <- assign(x)
  more <- logical_not(more)
}
)";

TEST(Op, SubBlocksAreThoseOfItsListsToo) {
  ASSERT_OK_AND_ASSIGN(
      const Program program,
      ParseProgram("program p version=1\n\nblock main {\n  o() a=&one b=[&two, &one] !opaque\n}\n\nblock one parent=main {\n}\n\n"
                   "block two parent=main {\n}\n"));
  EXPECT_EQ(program.main().ops()[0]->SubBlocks(), (std::vector<int>{1, 2, 1}));
}

TEST(WithoutBlocks, ReferencesAreNumberedAnew) {
  ASSERT_OK_AND_ASSIGN(Program program, ParseProgram(kBranches));
  std::vector<std::unique_ptr<Op>> ops = program.main().TakeOps();
  ops.erase(ops.begin());
  program.main().SetOps(std::move(ops));
  const Program less = WithoutBlocks(program, {false, true, false, false});
  ASSERT_OK(Verify(less));
  ASSERT_EQ(less.num_blocks(), 3);
  EXPECT_EQ(less.block(1).name(), "second");
  EXPECT_EQ(less.main().ops()[0]->SubBlocks(), std::vector<int>{1});
  EXPECT_EQ(less.block(1).ops()[1]->SubBlocks(), std::vector<int>{2});
  EXPECT_EQ(less.block(2).parent(), 1);
  EXPECT_THAT(PrintProgram(less), ::testing::Not(::testing::HasSubstr("first")));
}

}  // namespace
}  // namespace ampc
