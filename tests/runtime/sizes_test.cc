#include "runtime/convert/sizes.h"

#include "gtest/gtest.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

double ElementsOf(const Program& program, const FeedDims& dims, const char* value) {
  const ProgramSizes sizes = MadeSizes(program, dims);
  return sizes.elements[program.main().FindVar(value)->id()];
}

TEST(Sizes, AreThoseOfTheGivenDims) {
  const Program program = testing::BareProgram("feed x : f32 [?, ?]\ny = relu(x) : f32 [?, ?]\nfetch y\n");
  EXPECT_EQ(ElementsOf(program, {{"x", {3, 5}}}, "y"), 15);
}

// Inference gave y the symbols of x before anybody chose.
TEST(Sizes, ReplaceSymbols) {
  const Program program = testing::BareProgram(
      "feed x : f32 [batch, length, 8]\nparam w : f32 [8, 4]\ny = matmul_v2(x, w) : f32 [batch, length, 4]\n"
      "z = relu(y) : f32 [batch, length, 4]\nfetch z\n");
  EXPECT_EQ(ElementsOf(program, {{"x", {2, 6, 8}}}, "y"), 48);
  EXPECT_EQ(ElementsOf(program, {{"x", {2, 6, 8}}}, "z"), 48);
}

// A position table that is cut to the length of the feed, and what is added to it.
TEST(Sizes, FollowDimsThatAreComputed) {
  const Program program = testing::BareProgram(
      "feed x : f32 [1, ?, 8]\nparam table : f32 [64, 8]\nconst one : i32 [1] = [1]\nconst zero : i32 [1] = [0]\n"
      "s = shape(x) : i32 [3]\nd = slice(s) axes=[0] starts=[1] ends=[2] : i32 [1]\n"
      "c = slice(Input=table, EndsTensorList=[d]) axes=[0] starts=[0] ends=[-1] infer_flags=[-1] : f32 [?, 8]\n"
      "y = elementwise_add(x, c) : f32 [1, ?, 8]\nr = relu(c) : f32 [?, 8]\nfetch y\nfetch r\n");
  EXPECT_EQ(ElementsOf(program, {{"x", {1, 16, 8}}}, "r"), 128);
}

}  // namespace
}  // namespace ampc
