#include "runtime/profile/step_seconds.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

// A product with a bias and a rectifier, and what follows; an op has the work of its number.
constexpr char kWritten[] = R"(
feed  x : f32 [4, 8]
param w : f32 [8, 8]
param b : f32 [8]
p = matmul_v2(x, w) : f32 [4, 8]
s = elementwise_add(p, b) : f32 [4, 8]
r = relu(s) : f32 [4, 8]
e = exp(r) : f32 [4, 8]
fetch e
)";

std::vector<double> Shared(const Program& ran, const std::vector<double>& seconds) {
  const Program written = testing::BareProgram(kWritten);
  return OpSecondsOf(written, ran, seconds, [](const Op& op) { return op.id() + 1.0; });
}

TEST(StepSeconds, OfEachOpAreItsOwn) { EXPECT_THAT(Shared(testing::BareProgram(kWritten), {4, 3, 2, 1}), ElementsAre(4, 3, 2, 1)); }

TEST(StepSeconds, OfAFusedOpAreThoseOfAllThatItStandsFor) {
  const Program ran = testing::BareProgram(R"(
feed  x : f32 [4, 8]
param w : f32 [8, 8]
r = matmul_v2(x, w) : f32 [4, 8]
e = exp(r) : f32 [4, 8]
fetch e
)");
  EXPECT_THAT(Shared(ran, {12, 1}), ElementsAre(DoubleEq(2), DoubleEq(4), DoubleEq(6), 1));
}

TEST(StepSeconds, OfPartsOfAnOpCountTogether) {
  const Program ran = testing::BareProgram(R"(
feed  x : f32 [4, 8]
param w : f32 [8, 8]
param b : f32 [8]
t = transpose2(x) axis=[1, 0] : f32 [8, 4]
p = matmul_v2(t, w) trans_x=true : f32 [4, 8]
s = elementwise_add(p, b) : f32 [4, 8]
r = relu(s) : f32 [4, 8]
e = exp(r) : f32 [4, 8]
fetch e
)");
  EXPECT_THAT(Shared(ran, {5, 4, 3, 2, 1}), ElementsAre(9, 3, 2, 1));
}

// They are predicted apart.
TEST(StepSeconds, LeaveOutCastsOfTheConversion) {
  const Program ran = testing::BareProgram(R"(
feed  x : f32 [4, 8]
param w : bf16 [8, 8]
param b : f32 [8]
x.cast = cast(x) to=bf16 !amp=inserted : bf16 [4, 8]
p = matmul_v2(x.cast, w) : bf16 [4, 8]
p.cast = cast(p) to=f32 : f32 [4, 8]
s = elementwise_add(p.cast, b) : f32 [4, 8]
r = relu(s) : f32 [4, 8]
e = exp(r) : f32 [4, 8]
fetch e
)");
  EXPECT_THAT(Shared(ran, {100, 4, 100, 3, 2, 1}), ElementsAre(4, 3, 2, 1));
}

// Folded, dropped or taken for another that is alike.
TEST(StepSeconds, AreNoneForWhatDoesNotRun) {
  const Program ran = testing::BareProgram("feed x : f32 [4, 8]\ne = exp(x) : f32 [4, 8]\nfetch e\n");
  const Program written = testing::BareProgram(
      "feed x : f32 [4, 8]\nconst one : f32 [] = 1\nc = scale(one) scale=2.0 : f32 []\ne = exp(x) : f32 [4, 8]\nfetch e\n");
  EXPECT_THAT(OpSecondsOf(written, ran, {7}, [](const Op&) { return 0.0; }), ElementsAre(0, 7));
}

}  // namespace
}  // namespace ampc
