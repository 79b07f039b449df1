// SameProgram and Fingerprint see every difference that the text shows, and none that it does not.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testlib/bare_program.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr char kText[] = R"(
feed x : f32 [batch, 4]
param w : f32 [4, 4] trainable = 0.5
const c : f32 [2] = [1, 2]
state s : f32 [1] as="step"
a = matmul_v2(x, w) : f32 [batch, 4]
b, d = split(a) axis=1 num=2 !guard=1 !was=f32 : f32 [batch, 2], f32 [batch, 2]
e = elementwise_add(b, c) !amp=fp32("named") !was.out=f16 : f32 [batch, 2]
foo(X=[d]) -> Out=[f] k=1 !opaque : f32 [2]
s <- assign(s)
fetch e
)";

struct Edit {
  const char* from;
  const char* to;
  const char* why;
};

class Difference : public ::testing::TestWithParam<Edit> {};

TEST_P(Difference, IsSeenFromBothSides) {
  std::string text = kText;
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  const Program a = testing::BareProgram(kText), b = testing::BareProgram(text);
  std::string why;
  EXPECT_FALSE(SameProgram(a, b, &why));
  EXPECT_EQ(why, GetParam().why);
  EXPECT_FALSE(SameProgram(b, a));
  EXPECT_NE(Fingerprint(a), Fingerprint(b));
}

INSTANTIATE_TEST_SUITE_P(
    SameProgram, Difference,
    ::testing::Values(
        Edit{"feed x : f32 [batch, 4]", "feed x : f32 [n, 4]", "'x': type"},
        Edit{"feed x : f32 [batch, 4]", "feed x : f16 [batch, 4]", "'x': type"},
        Edit{"feed x : f32 [batch, 4]", "feed x : f32 [batch, 4] lod=1", "'x': type"}, Edit{" trainable", "", "'w': trainable"},
        Edit{"trainable", "trainable stop_gradient", "'w': stop_gradient"}, Edit{"= 0.5", "= 0.25", "'w': weight"},
        Edit{"= 0.5", "", "'w': weight"}, Edit{"= 0.5", "= 0.5|f16(clamp,flush)", "'w': weight"}, Edit{"[1, 2]", "[1, 3]", "'c': literal"},
        Edit{"as=\"step\"", "", "'s': export name"}, Edit{"state s", "param s", "'s': kind"},
        Edit{"const c : f32 [2] = [1, 2]", "const c : f32 [2] = [1, 2]\nconst c2 : f32 [1] = [1]", "'c2' is only in the second program"},
        Edit{"matmul_v2(x, w)", "matmul_v2(w, x)", "block 'main', op 0, 6: op 'matmul_v2' -> 'a': operands of slot X"},
        Edit{"matmul_v2(x, w)", "matmul(x, w)", "block 'main', op 0, 6: op 'matmul_v2' -> 'a': op 'matmul'"},
        Edit{"axis=1", "axis=-1", "block 'main', op 1, 7: op 'split' -> 'b': attribute axis"},
        Edit{"!guard=1", "", "block 'main', op 1, 7: op 'split' -> 'b': mark guard"}, Edit{"!was=f32", "", "'b': type before AMP"},
        Edit{"fp32(\"named\")", "fp32(\"other\")", "block 'main', op 2, 8: op 'elementwise_add' -> 'e': mark amp"},
        Edit{"!was.out=f16", "", "block 'main', op 2, 8: op 'elementwise_add' -> 'e': mark was"},
        Edit{"k=1", "k=1l", "block 'main', op 3, 9: op 'foo' -> 'f': attribute k"},
        Edit{"X=[d]", "Y=[d]", "block 'main', op 3, 9: op 'foo' -> 'f': slots"},
        Edit{"Out=[f]", "Other=[f]", "block 'main', op 3, 9: op 'foo' -> 'f': slots"},
        Edit{"k=1", "k=1 l=2", "block 'main', op 3, 9: op 'foo' -> 'f': attribute l"},
        Edit{"s <- assign(s)\n", "", "block 'main' has 5 ops, 4"}, Edit{"fetch e", "fetch d", "the fetches of the signature"}));

// Every two of these, by the comparison and by the fingerprint.
TEST(SameProgram, EachValueOfAnAttributeIsAnother) {
  // clang-format off
  const char* const values[] = {"true", "false", "1", "2", "1l", "2l", "0.5", "0.25", "0.5d", "0.25d", "\"a\"", "\"b\"", "f16", "bf16", "$x", "$y",
                                "scalar(1l)", "scalar(2l)", "scalar(0.5d)", "scalar(true)", "scalar(complex(1.0d, 2.0d))", "scalar(complex(3.0d, 2.0d))",
                                "scalar(complex(1.0d, 4.0d))", "[1]", "[2]", "[1, 2]", "[2, 1]", "[1l]", "[0.5]", "[\"a\"]", "[\"b\"]", "[true]", "[false]"};
  // clang-format on
  std::vector<Program> programs;
  for (const char* value : values) programs.push_back(testing::BareProgram(absl::StrCat("o() a=", value, " !opaque\n")));
  for (size_t i = 0; i < programs.size(); ++i) {
    for (size_t j = 0; j < programs.size(); ++j) {
      EXPECT_EQ(SameProgram(programs[i], programs[j]), i == j) << values[i] << " " << values[j];
      EXPECT_EQ(Fingerprint(programs[i]) == Fingerprint(programs[j]), i == j) << values[i] << " " << values[j];
    }
  }
}

TEST(SameProgram, EachShapeOfALiteralIsAnother) {
  const Program a = testing::BareProgram("const c : f32 [1, 2] = [1, 2]"), b = testing::BareProgram("const c : f32 [2, 1] = [1, 2]");
  EXPECT_FALSE(SameProgram(a, b));
  EXPECT_NE(Fingerprint(a), Fingerprint(b));
}

TEST(SameProgram, DefaultsCountAsGiven) {
  const Program a = testing::BareProgram("feed x : f32 [4]\ny = softmax(x) : f32 [4]\nfetch y");
  const Program b = testing::BareProgram("\n\nfeed x : f32 [4]\ny = softmax(x) axis=-1 op_device=\"\" : f32 [4]\nfetch y");
  std::string why;
  EXPECT_TRUE(SameProgram(a, b, &why)) << why;
  EXPECT_EQ(Fingerprint(a), Fingerprint(b));
}

TEST(SameProgram, OrderOfAttributesAndDeclarationsDoesNotCount) {
  const Program a = testing::BareProgram("param w : f32 [n]\nparam v : f32 [m]\ny, z = split(w) axis=1 num=2 : f32 [4], f32 [4]");
  const Program b = testing::BareProgram("param v : f32 [m]\nparam w : f32 [n]\ny, z = split(w) num=2 axis=1 : f32 [4], f32 [4]");
  std::string why;
  EXPECT_TRUE(SameProgram(a, b, &why)) << why;
  EXPECT_EQ(Fingerprint(a), Fingerprint(b));
}

TEST(SameProgram, OrderOfFeedsCounts) {
  const Program a = testing::BareProgram("feed x : f32 [4]\nfeed y : f32 [4]"),
                b = testing::BareProgram("feed y : f32 [4]\nfeed x : f32 [4]");
  std::string why;
  EXPECT_FALSE(SameProgram(a, b, &why));
  EXPECT_EQ(why, "the feeds of the signature");
  EXPECT_NE(Fingerprint(a), Fingerprint(b));
}

}  // namespace
}  // namespace ampc
