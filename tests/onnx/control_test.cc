// If, Loop and Scan, run.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "runtime/session.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr char kIf[] = R"(
feed x : f32 [?]
feed flag : bool [1]
y = onnx.If.16(cond=flag, captures=[x]) then_branch=&yes else_branch=&no : f32 [?]
z = scale(y) scale=10.0 : f32 [?]
fetch z
block yes parent=main {
  a = scale(x) bias=1.0 : f32 [?]
  onnx.yield(outputs=[a])
}
block no parent=main {
  b = scale(x) scale=-1.0 : f32 [?]
  c = concat(X=[b, b]) axis=0 : f32 [?]
  onnx.yield(outputs=[c])
}
)";

TEST(OnnxIf, TakesOneBranch) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kIf));
  ASSERT_OK_AND_ASSIGN(TensorMap yes, session.Run({{"x", F({1}, {2})}, {"flag", B(true)}}));
  EXPECT_EQ(Floats(yes.at("z")), std::vector<float>{30});
  ASSERT_OK_AND_ASSIGN(TensorMap no, session.Run({{"x", F({1}, {2})}, {"flag", B(false)}}));
  EXPECT_EQ(Floats(no.at("z")), (std::vector<float>{-20, -20}));
}

// The branch that is not taken need not even fit.
TEST(OnnxIf, OfAConstantIsItsBranch) {
  std::string text = absl::StrReplaceAll(kIf, {{"feed flag : bool [1]", "const flag : bool [1] = [false]"},
                                               {"scale(x) bias=1.0 : f32 [?]", "elementwise_add(x, three) : f32 [?]"},
                                               {"feed x : f32 [?]", "feed x : f32 [2]\nconst three : f32 [3] = [1.0, 2.0, 3.0]"}});
  text = absl::StrReplaceAll(text, {{"elementwise_add(x, three)", "scale(three)"}});
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(text));
  EXPECT_EQ(session.program().num_blocks(), 1);
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({2}, {1, 2})}}));
  EXPECT_EQ(Floats(out.at("z")), (std::vector<float>{-10, -20, -10, -20}));
}

TEST(OnnxIf, BranchesOfTwoTypes) {
  const std::string text =
      absl::StrReplaceAll(kIf, {{"a = scale(x) bias=1.0 : f32 [?]", "a = cast(x) in_dtype=f32 out_dtype=f16 : f16 [?]"}});
  ExpectError(FromText(text).status(), ExitCode::kBadInput,
              "output 0 of its then_branch ('a') is f16 [?] and output 0 of its else_branch ('c') is f32 [?]; both need one element type");
}

TEST(OnnxIf, NestedInABranchThatIsTaken) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [1]
feed flag : bool []
const always : bool [] = true
y = onnx.If.16(cond=always, captures=[x, flag]) then_branch=&outer else_branch=&never : f32 [1]
fetch y
block outer parent=main {
  k = scale(x) scale=3.0 : f32 [1]
  r = onnx.If.16(cond=flag, captures=[k]) then_branch=&yes else_branch=&no : f32 [1]
  onnx.yield(outputs=[r])
}
block never parent=main {
  onnx.yield(outputs=[x])
}
block yes parent=outer {
  onnx.yield(outputs=[k])
}
block no parent=outer {
  m = scale(k) scale=-1.0 : f32 [1]
  onnx.yield(outputs=[m])
}
)"));
  EXPECT_EQ(session.program().num_blocks(), 3);
  ASSERT_OK_AND_ASSIGN(TensorMap yes, session.Run({{"x", F({1}, {2})}, {"flag", HostTensor::Of<bool>({}, {true})}}));
  EXPECT_EQ(Floats(yes.at("y")), std::vector<float>{6});
  ASSERT_OK_AND_ASSIGN(TensorMap no, session.Run({{"x", F({1}, {2})}, {"flag", HostTensor::Of<bool>({}, {false})}}));
  EXPECT_EQ(Floats(no.at("y")), std::vector<float>{-6});
}

// Fibonacci: two states that change places, one scan output. The entries of the body declare nothing.
constexpr char kLoop[] = R"(
feed n : i64 []
feed start : f32 [2]
feed go : bool []
const one : f32 [2] = [1.0, 1.0]
const most : f32 [] = 40.0
onnx.Loop.16(M=n, cond=go, v_initial=[start, one], captures=[most]) -> v_final_and_scan_outputs=[a, b, all] body=&body : f32 [2], f32 [2], f32 [?, 2]
fetch a, b, all
block body parent=main {
  onnx.enter() -> inputs=[i, running, p, q]
  s = elementwise_add(p, q)
  sum = reduce_sum(s) reduce_all=true
  small = less_than(sum, most)
  onnx.yield(outputs=[small, q, s, p])
}
)";

TensorMap LoopFeeds(int64_t n, bool go) {
  return {{"n", HostTensor::Of<int64_t>({}, {n})}, {"start", F({2}, {1, 0})}, {"go", HostTensor::Of<bool>({}, {go})}};
}

TEST(OnnxLoop, CarriesStatesAndCollects) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kLoop));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run(LoopFeeds(3, true)));
  EXPECT_EQ(Floats(out.at("a")), (std::vector<float>{3, 2}));
  EXPECT_EQ(Floats(out.at("b")), (std::vector<float>{5, 3}));
  EXPECT_EQ(Floats(out.at("all")), (std::vector<float>{1, 0, 1, 1, 2, 1}));
  EXPECT_EQ(DimsOf(out.at("all")), (std::vector<int64_t>{3, 2}));
}

TEST(OnnxLoop, EndsWhereTheBodySaysSo) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kLoop));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run(LoopFeeds(1000, true)));
  EXPECT_EQ(Floats(out.at("b")), (std::vector<float>{34, 21}));
  EXPECT_EQ(DimsOf(out.at("all")), (std::vector<int64_t>{7, 2}));
}

TEST(OnnxLoop, NoIteration) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kLoop));
  for (const TensorMap& feeds : {LoopFeeds(0, true), LoopFeeds(5, false)}) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run(feeds));
    EXPECT_EQ(Floats(out.at("a")), (std::vector<float>{1, 0}));
    EXPECT_EQ(DimsOf(out.at("all")), (std::vector<int64_t>{0, 2}));
  }
}

TEST(OnnxLoop, WithoutCountOrCondition) {
  const std::string counted = absl::StrReplaceAll(kLoop, {{"cond=go, ", ""}, {"feed go : bool []\n", ""}});
  ASSERT_OK_AND_ASSIGN(const Session by_count, FromText(counted));
  TensorMap feeds = LoopFeeds(4, true);
  feeds.erase("go");
  ASSERT_OK_AND_ASSIGN(TensorMap out, by_count.Run(feeds));
  EXPECT_EQ(Floats(out.at("b")), (std::vector<float>{8, 5}));
  const std::string endless = absl::StrReplaceAll(kLoop, {{"M=n, ", ""}, {"feed n : i64 []\n", ""}});
  ASSERT_OK_AND_ASSIGN(const Session by_condition, FromText(endless));
  feeds = LoopFeeds(4, true);
  feeds.erase("n");
  ASSERT_OK_AND_ASSIGN(out, by_condition.Run(feeds));
  EXPECT_EQ(Floats(out.at("b")), (std::vector<float>{34, 21}));
}

// A state that grows: its entry may not keep the dims of the first iteration.
TEST(OnnxLoop, StatesMayGrow) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed n : i64 []
const empty : f32 [1] = [7.0]
onnx.Loop.16(M=n, v_initial=[empty]) -> v_final_and_scan_outputs=[all, sizes] body=&body : f32 [?], i32 [?, 1]
fetch all, sizes
block body parent=main {
  onnx.enter() -> inputs=[i, running, list]
  f = cast(i) in_dtype=i64 out_dtype=f32
  one = unsqueeze2(f) axes=[0]
  longer = concat(X=[list, one]) axis=0
  size = shape(longer)
  onnx.yield(outputs=[running, longer, size])
}
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"n", HostTensor::Of<int64_t>({}, {3})}}));
  EXPECT_EQ(Floats(out.at("all")), (std::vector<float>{7, 0, 1, 2}));
  EXPECT_EQ(out.at("sizes"), HostTensor::Of<int32_t>({3, 1}, {2, 3, 4}));
}

TEST(OnnxLoop, InsideALoop) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed n : i64 []
const none : f32 [] = 0.0
const one : f32 [] = 1.0
onnx.Loop.16(M=n, v_initial=[none], captures=[one]) -> v_final_and_scan_outputs=[sum] body=&outer : f32 []
fetch sum
block outer parent=main {
  onnx.enter() -> inputs=[i, go, s]
  onnx.Loop.16(M=i, cond=go, v_initial=[s], captures=[one]) -> v_final_and_scan_outputs=[t] body=&inner
  onnx.yield(outputs=[go, t])
}
block inner parent=outer {
  onnx.enter() -> inputs=[j, again, u]
  v = elementwise_add(u, one)
  onnx.yield(outputs=[again, v])
}
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"n", HostTensor::Of<int64_t>({}, {6})}}));
  EXPECT_EQ(Floats(out.at("sum")), std::vector<float>{15});
}

TEST(OnnxLoop, AStateOfTwoTypes) {
  const std::string text = absl::StrReplaceAll(
      kLoop, {{"sum = reduce_sum", "h = cast(q) in_dtype=f32 out_dtype=f16\n  sum = reduce_sum"}, {"small, q,", "small, h,"}});
  ExpectError(FromText(text).status(), ExitCode::kBadInput, "initial state 0 is f32 [2] and output 1 of its body ('h') is f16");
}

constexpr char kScan[] = R"(
feed x : f32 [?, ?]
const zero : f32 [2] = [0.0, 0.0]
onnx.Scan.16(initial_state_and_scan_inputs=[zero, x]) -> final_state_and_scan_outputs=[last, sums] num_scan_inputs=1 body=&body ATTRS : f32 [2], f32 [?, ?]
fetch last, sums
block body parent=main {
  onnx.enter() -> inputs=[sum, row]
  s = elementwise_add(sum, row)
  onnx.yield(outputs=[s, s])
}
)";

TEST(OnnxScan, SumsRows) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(absl::StrReplaceAll(kScan, {{"ATTRS", ""}})));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({3, 2}, {1, 2, 3, 4, 5, 6})}}));
  EXPECT_EQ(Floats(out.at("last")), (std::vector<float>{9, 12}));
  EXPECT_EQ(out.at("sums"), F({3, 2}, {1, 2, 4, 6, 9, 12}));
  ASSERT_OK_AND_ASSIGN(out, session.Run({{"x", F({0, 2}, {})}}));
  EXPECT_EQ(DimsOf(out.at("sums")), (std::vector<int64_t>{0, 2}));
}

TEST(OnnxScan, AxesAndDirections) {
  const char* attrs = "scan_input_axes=[-1] scan_input_directions=[1] scan_output_axes=[1] scan_output_directions=[1]";
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(absl::StrReplaceAll(kScan, {{"ATTRS", attrs}})));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({2, 3}, {1, 3, 5, 2, 4, 6})}}));
  EXPECT_EQ(Floats(out.at("last")), (std::vector<float>{9, 12}));
  EXPECT_EQ(out.at("sums"), F({2, 3}, {9, 8, 5, 12, 10, 6}));
}

// The samples of a batch one after the other.
TEST(OnnxScan, OfOperatorSet8) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [?, ?, 2]
feed start : f32 [?, 2]
onnx.Scan.8(initial_state_and_scan_inputs=[start, x]) -> final_state_and_scan_outputs=[last, sums] num_scan_inputs=1 body=&body : f32 [?, 2], f32 [?, ?, 2]
fetch last, sums
block body parent=main {
  onnx.enter() -> inputs=[sum, row]
  s = elementwise_add(sum, row)
  onnx.yield(outputs=[s, s])
}
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, {"start", F({2, 2}, {0, 0, 10, 10})}}));
  EXPECT_EQ(out.at("last"), F({2, 2}, {4, 6, 22, 24}));
  EXPECT_EQ(out.at("sums"), F({2, 2, 2}, {1, 2, 4, 6, 15, 16, 22, 24}));
}

// Of sequences of different lengths: states stay behind the end, outputs are zero there; read from its end, a sequence begins at its own.
TEST(OnnxScan, OfSequencesOfOperatorSet8) {
  for (const bool reversed : {false, true}) {
    std::string text = R"(
feed x : f32 [2, 3, 1]
feed start : f32 [2, 1]
feed lens : i64 [2]
onnx.Scan.8(sequence_lens=lens, initial_state_and_scan_inputs=[start, x]) -> final_state_and_scan_outputs=[last, sums] num_scan_inputs=1 DIRS body=&body : f32 [2, 1], f32 [2, 3, 1]
fetch last, sums
block body parent=main {
  onnx.enter() -> inputs=[sum, row]
  twice = scale(sum) scale=2.0
  s = elementwise_add(twice, row)
  onnx.yield(outputs=[s, s])
}
)";
    text = absl::StrReplaceAll(text, {{"DIRS", reversed ? "directions=[1]" : ""}});
    ASSERT_OK_AND_ASSIGN(const Session session, FromText(text));
    const HostTensor lens = HostTensor::Of<int64_t>({2}, {3, 2});
    ASSERT_OK_AND_ASSIGN(TensorMap out,
                         session.Run({{"x", F({2, 3, 1}, {1, 2, 3, 4, 5, 6})}, {"start", F({2, 1}, {0, 1})}, {"lens", lens}}));
    EXPECT_EQ(out.at("last"), reversed ? F({2, 1}, {17, 18}) : F({2, 1}, {11, 17}));
    EXPECT_EQ(out.at("sums"), reversed ? F({2, 3, 1}, {3, 8, 17, 7, 18, 0}) : F({2, 3, 1}, {1, 4, 11, 6, 17, 0}));
  }
}

}  // namespace
}  // namespace ampc
