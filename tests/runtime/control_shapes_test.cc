// Tensor arrays, values that grow, and shapes that depend on data.
#include <gtest/gtest.h>

#include "runtime/session.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

TEST(ControlShapes, ACarryMayGrow) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [?, 2]
feed n : i64 [1]
const zero : i64 [1] = [0]
carry i : i64 [1]
carry all : f32 [?, 2]
carry more : bool [1]
i <- assign(zero)
all <- assign(x)
more <- less_than(i, n)
while(X=[n, x], Condition=more) -> Out<-[i, all, more] sub_block=&body
total = reduce_sum(all) dim=[0] : f32 [2]
fetch all, total
block body parent=main {
  concat(X=[all, x]) -> Out<-all axis=0
  i <- increment(i)
  more <- less_than(i, n)
}
)"));
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({1, 2}, {1, 2})}, {"n", I(9)}}));
    EXPECT_EQ(DimsOf(out.at("all")), (std::vector<int64_t>{10, 2}));
    EXPECT_EQ(Floats(out.at("total")), (std::vector<float>{10, 20}));
    EXPECT_EQ(session.num_plans(), 1 + 9 + 1);
  }
}

TEST(ControlShapes, AConditionOfElements) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [?]
const none : f32 [1] = [0.0]
carry y : f32 [?]
y <- assign(none)
conditional_block(Cond=[x], Input=[x]) -> Out<-[y] sub_block=&then
fetch y
block then parent=main {
  y <- scale(x) scale=3.0
}
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap some, session.Run({{"x", F({2}, {1, 2})}}));
  EXPECT_EQ(Floats(some.at("y")), (std::vector<float>{3, 6}));
  ASSERT_OK_AND_ASSIGN(TensorMap none, session.Run({{"x", F({0}, {})}}));
  EXPECT_EQ(Floats(none.at("y")), std::vector<float>{0});
}

TEST(ControlShapes, ArraysInALoop) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [2]
feed n : i64 [1]
const zero : i64 [1] = [0]
state a : array<f32> [*]
carry i : i64 [1]
carry more : bool [1]
i <- assign(zero)
a <- write_to_array(x, i)
more <- less_than(i, n)
while(X=[n], Condition=more) -> Out<-[i, more] sub_block=&body
length = lod_array_length(a) : i64 [1]
tensor_array_to_tensor(X=a) -> Out=rows, OutIndex=ones axis=0 use_stack=true : f32 [?, 2], i32 [?]
tensor_array_to_tensor(X=a) -> Out=flat axis=-1 : f32 [?]
read_from_array(X=a, I=n) -> Out=last : f32 [2]
y = relu(last) : f32 [2]
fetch length, rows, ones, flat, y
block body parent=main {
  read_from_array(X=a, I=i) -> Out=p : f32 [2]
  q = scale(p) scale=2.0 : f32 [2]
  i <- increment(i)
  a <- write_to_array(q, i)
  more <- less_than(i, n)
}
)"));
  for (int round = 0; round < 2; ++round) {  // arrays start empty each time
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({2}, {1, -3})}, {"n", I(2)}}));
    EXPECT_EQ(Longs(out.at("length")), std::vector<int64_t>{3});
    EXPECT_EQ(DimsOf(out.at("rows")), (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(Floats(out.at("rows")), (std::vector<float>{1, -3, 2, -6, 4, -12}));
    EXPECT_EQ(DimsOf(out.at("ones")), std::vector<int64_t>{3});
    EXPECT_EQ(DimsOf(out.at("flat")), std::vector<int64_t>{6});
    EXPECT_EQ(Floats(out.at("y")), (std::vector<float>{4, 0}));
  }
}

TEST(ControlShapes, ArrayElementsThatDoNotExist) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [2]
feed i : i64 [1]
feed j : i64 [1]
state a : array<f32> [*]
a <- write_to_array(x, i)
read_from_array(X=a, I=j) -> Out=y : f32 [2]
fetch y
)"));
  const HostTensor x = F({2}, {1, 2});
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", x}, {"i", I(2)}, {"j", I(2)}}));
  EXPECT_EQ(Floats(out.at("y")), (std::vector<float>{1, 2}));
  ExpectError(session.Run({{"x", x}, {"i", I(2)}, {"j", I(1)}}).status(), ExitCode::kUsage, "array 'a' has no element 1, its length is 3");
  ExpectError(session.Run({{"x", x}, {"i", I(2)}, {"j", I(3)}}).status(), ExitCode::kUsage, "no element 3");
  ExpectError(session.Run({{"x", x}, {"i", I(-1)}, {"j", I(0)}}).status(), ExitCode::kUsage, "index -1 is outside");
}

// Short feeds that decide shapes are known to the plan: the program is one plan for each of their values.
TEST(ControlShapes, FeedsThatSteer) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [1, 1, 2, 2]
feed s : f32 [4]
feed p : i64 [8]
a = relu(x) : f32 [1, 1, 2, 2]
onnx.Resize.13(X=[a], scales=[s]) -> Y=[b] : f32 [1, 1, ?, ?]
onnx.Pad.13(data=[b], pads=[p]) -> output=[c] : f32 [1, 1, ?, ?]
y = relu(c) : f32 [1, 1, ?, ?]
fetch y
)"));
  const auto dims = [&](float scale, int64_t pad) -> std::vector<int64_t> {
    const absl::StatusOr<TensorMap> out = session.Run({{"x", F({1, 1, 2, 2}, {1, 2, 3, 4})},
                                                       {"s", F({4}, {1, 1, scale, 1})},
                                                       {"p", HostTensor::Of<int64_t>({8}, {0, 0, 0, pad, 0, 0, 0, 0})}});
    EXPECT_OK(out.status());
    return out.ok() ? DimsOf(out->at("y")) : std::vector<int64_t>();
  };
  EXPECT_EQ(dims(2, 1), (std::vector<int64_t>{1, 1, 4, 3}));
  EXPECT_EQ(session.num_plans(), 1);
  EXPECT_EQ(dims(3, 1), (std::vector<int64_t>{1, 1, 6, 3}));
  EXPECT_EQ(dims(3, 2), (std::vector<int64_t>{1, 1, 6, 4}));
  EXPECT_EQ(session.num_plans(), 3);
  EXPECT_EQ(dims(2, 1), (std::vector<int64_t>{1, 1, 4, 3}));
  EXPECT_EQ(session.num_plans(), 3);
}

TEST(ControlShapes, ShapesFromValues) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [?]
feed n : i64 [1]
const zero : i64 [1] = [0]
const one : i64 [1] = [1]
before = scale(x) scale=2.0 : f32 [?]
range(Start=zero, End=n, Step=one) -> Out=r : i64 [?]
g = gather(before, r) : f32 [?]
y = relu(g) : f32 [?]
slice(Input=y, StartsTensor=one, EndsTensor=n) -> Out=tail axes=[0] starts=[0] ends=[0] : f32 [?]
fetch y, tail
)"));
  for (int64_t n : {2, 3, 1, 3}) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({3}, {1, 2, -3})}, {"n", I(n)}}));
    std::vector<float> want = {2, 4, 0};
    want.resize(n);
    EXPECT_EQ(Floats(out.at("y")), want);
    want.erase(want.begin());
    EXPECT_EQ(Floats(out.at("tail")), want);
  }
  const int plans = session.num_plans();
  ASSERT_OK(session.Run({{"x", F({3}, {4, 5, 6})}, {"n", I(2)}}).status());
  EXPECT_EQ(session.num_plans(), plans);
}

TEST(ControlShapes, OnePlanForAllPlaces) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [?, 2]
feed n : i64 [1]
const zero : i64 [1] = [0]
const start : f32 [1, 2] = [0.0, 0.0]
carry i : i64 [1]
carry h : f32 [1, 2]
carry more : bool [1]
i <- assign(zero)
h <- assign(start)
more <- less_than(i, n)
while(X=[n, x], Condition=more) -> Out<-[i, h, more] sub_block=&body
fetch h
block body parent=main {
  end = scale(i) bias=1.0 : i64 [1]
  slice(Input=x, StartsTensor=i, EndsTensor=end) -> Out=row axes=[0] starts=[0] ends=[0] : f32 [?, 2]
  t = elementwise_add(h, row) : f32 [?, 2]
  h <- scale(t) scale=2.0
  i <- increment(i)
  more <- less_than(i, n)
}
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({3, 2}, {1, 2, 3, 4, 5, 6})}, {"n", I(3)}}));
  EXPECT_EQ(Floats(out.at("h")), (std::vector<float>{30, 44}));
  // Main block in front; in the body: up to the slice, the attempt at it, one slice per place, the rest.
  EXPECT_EQ(session.num_plans(), 1 + 1 + 1 + 3 + 1);
}

TEST(ControlShapes, WhatCannotRunIsRefusedWhereItStands) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [2]
feed flag : bool [1]
state a : array<f32> [*]
carry y : f32 [2]
y <- scale(x) scale=2.0
conditional_block(Cond=[flag], Input=[x]) -> Out<-[y] is_scalar_condition=true sub_block=&then
fetch y
block then parent=main {
  strange(X=x) -> Out=z !opaque : f32 [2]
  y <- assign(z)
}
)"));
  ASSERT_OK(session.Run({{"x", F({2}, {1, 2})}, {"flag", B(false)}}).status());
  ExpectError(session.Run({{"x", F({2}, {1, 2})}, {"flag", B(true)}}).status(), ExitCode::kUnsupported, "op 'strange' -> 'z'");
}

TEST(ControlShapes, ArraysAreNoTensors) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [2]
feed i : i64 [1]
state a : array<f32> [*]
a <- write_to_array(x, i)
y = shape(a) : i32 [*]
fetch y
)"));
  ExpectError(session.Run({{"x", F({2}, {1, 2})}, {"i", I(0)}}).status(), ExitCode::kUnsupported, "operand 'a' is a tensor array");
}

}  // namespace
}  // namespace ampc
