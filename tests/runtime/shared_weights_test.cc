// One weight that several ops read, each in its way: as in a program of its own.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

std::vector<float> Numbers(int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<float>((i * 37 + 11) % 64) / 32 - 1);
  return numbers;
}

std::string Constant(const std::string& type, int count) {
  const std::vector<float> numbers = Numbers(count);
  return absl::StrCat("const w : f32 ", type, " = [",
                      absl::StrJoin(numbers, ", ",
                                    [](std::string* out, float f) {
                                      absl::StrAppend(out,
                                                      f == static_cast<int>(f) ? absl::StrCat(static_cast<int>(f), ".0") : absl::StrCat(f));
                                    }),
                      "]\n");
}

// The results of all of `ops` in one program are those of each alone.
void ExpectAsAlone(const std::string& head, const std::string& type, const std::vector<std::string>& ops, const TensorMap& feeds) {
  for (const bool strict : {false, true}) {
    std::string all = head, fetches;
    for (size_t i = 0; i < ops.size(); ++i) {
      absl::StrAppend(&all, "y", i, " = ", ops[i], " : ", type, "\n");
      absl::StrAppend(&fetches, "fetch y", i, "\n");
    }
    ASSERT_OK_AND_ASSIGN(const Session together, FromText(all + fetches, {.threads = 1, .strict_rounding = strict}));
    ASSERT_OK_AND_ASSIGN(const TensorMap found, together.Run(feeds));
    for (size_t i = 0; i < ops.size(); ++i) {
      const std::string text = absl::StrCat(head, "y", i, " = ", ops[i], " : ", type, "\nfetch y", i, "\n");
      ASSERT_OK_AND_ASSIGN(const Session alone, FromText(text, {.threads = 1, .strict_rounding = strict}));
      ASSERT_OK_AND_ASSIGN(const TensorMap wanted, alone.Run(feeds));
      const std::string name = absl::StrCat("y", i);
      EXPECT_EQ(Floats(found.at(name)), Floats(wanted.at(name))) << ops[i];
    }
  }
}

TEST(SharedWeights, OfProductsThatTransposeItAndThatDoNot) {
  ExpectAsAlone("feed x : f32 [4, 8]\n" + Constant("[8, 8]", 64), "f32 [4, 8]",
                {"matmul_v2(x, w)", "matmul_v2(x, w) trans_y=true", "matmul(x, w) transpose_Y=true", "mul(x, w)"},
                {{"x", F({4, 8}, Numbers(32))}});
}

TEST(SharedWeights, OfAConvolutionAndOneTransposed) {
  ExpectAsAlone("feed x : f32 [1, 4, 5, 5]\n" + Constant("[4, 4, 3, 3]", 144), "f32 [1, 4, 5, 5]",
                {"conv2d(x, w) paddings=[1, 1]", "conv2d_transpose(x, w) paddings=[1, 1]", "conv2d(x, w) paddings=[2, 2] dilations=[2, 2]"},
                {{"x", F({1, 4, 5, 5}, Numbers(100))}});
}

}  // namespace
}  // namespace ampc
