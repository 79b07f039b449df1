#include "tools/picture/dot.h"

#include <gmock/gmock.h>

#include "graph/text/parser.h"
#include "tests/picture/programs.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

using testing::BareProgram;
using ::testing::HasSubstr;
using testing::kBranch;
using ::testing::Not;
using testing::Tower;

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Dot, FoldsRepeatedBlocksAndShowsOneOfThem) {
  const Program program = BareProgram(Tower(12));
  const std::string dot = ToDot(program);
  EXPECT_THAT(dot, HasSubstr("×12  matmul_v2, tanh, …"));
  EXPECT_THAT(dot, HasSubstr("one of 12 equal blocks of 6 ops"));
  EXPECT_EQ(Count(dot, "label=\"tanh"), 1);
}

TEST(Dot, WithoutGroupsEveryOpIsDrawn) {
  const Program program = BareProgram(Tower(12));
  const std::string dot = ToDot(program, {.group = false});
  EXPECT_THAT(dot, Not(HasSubstr("×")));
  EXPECT_EQ(Count(dot, "label=\"tanh"), 12);
}

TEST(Dot, DepthLeavesTheInsideOut) {
  const Program program = *ParseProgram(kBranch);
  EXPECT_THAT(ToDot(program), HasSubstr("label=\"conditional_block then\""));
  const std::string flat = ToDot(program, {.depth = 1});
  EXPECT_THAT(flat, Not(HasSubstr("matmul_v2")));
  EXPECT_THAT(flat, HasSubstr("1 op is left out"));
}

TEST(Dot, GuardRegionsAreClusters) {
  const Program program = *ParseProgram(kBranch);
  const std::string dot = ToDot(program);
  const size_t begin = dot.find("subgraph cluster_guard1");
  ASSERT_NE(begin, std::string::npos);
  const std::string cluster = dot.substr(begin, dot.find("  }\n", begin) - begin);
  EXPECT_THAT(cluster, HasSubstr("relu"));
  EXPECT_THAT(cluster, HasSubstr("exp"));
  EXPECT_THAT(cluster, Not(HasSubstr("sigmoid")));
}

TEST(Dot, TheLimitIsSaid) {
  const Program program = BareProgram(Tower(12));
  const std::string dot = ToDot(program, {.group = false, .max_nodes = 20});
  EXPECT_EQ(Count(dot, "label=\"tanh"), 3);
  EXPECT_THAT(dot, HasSubstr("55 ops are left out:\\nthe limit of 20 nodes"));
}

TEST(Dot, NamesAreQuoted) {
  const Program program = BareProgram("feed \"a\\\"b\\\\c\" : f32 [1]\ny = relu(\"a\\\"b\\\\c\") : f32 [1]\nfetch y\n");
  EXPECT_THAT(ToDot(program), HasSubstr("label=\"a\\\"b\\\\c\\nf32 [1]\""));
}

}  // namespace
}  // namespace ampc
