// Programs with control flow.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "runtime/session.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// h = 2h + x, n times.
constexpr char kLoop[] = R"(
feed x : f32 [?]
feed n : i64 [1]
const zero : i64 [1] = [0]
carry i : i64 [1]
carry h : f32 [?]
carry more : bool [1]
i <- assign(zero)
h <- assign(x)
more <- less_than(i, n)
while(X=[n, x], Condition=more) -> Out<-[i, h, more] sub_block=&body
y = relu(h) : f32 [?]
fetch y, i
block body parent=main {
  d = scale(h) scale=2.0 : f32 [?]
  h <- elementwise_add(d, x)
  i <- increment(i)
  more <- less_than(i, n)
}
)";

TEST(Control, WhileRepeats) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kLoop));
  for (int64_t n : {3, 1, 0, 5}) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({2}, {1, -1})}, {"n", I(n)}}));
    const float want = static_cast<float>((int64_t{2} << n) - 1);
    EXPECT_EQ(Floats(out.at("y")), (std::vector<float>{want, 0})) << n;
    EXPECT_EQ(Longs(out.at("i")), std::vector<int64_t>{n});
  }
}

TEST(Control, PlansAreKept) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kLoop));
  const TensorMap feeds = {{"x", F({2}, {1, -1})}, {"n", I(4)}};
  ASSERT_OK(session.Run(feeds).status());
  const int plans = session.num_plans();
  EXPECT_EQ(plans, 3);  // in front of the loop, its body, behind it
  ASSERT_OK(session.Run({{"x", F({2}, {5, 5})}, {"n", I(40)}}).status());
  EXPECT_EQ(session.num_plans(), plans);
  ASSERT_OK(session.Run({{"x", F({3}, {1, 1, 1})}, {"n", I(1)}}).status());
  EXPECT_EQ(session.num_plans(), 2 * plans);
  for (int64_t size = 1; size <= 20; ++size) ASSERT_OK(session.Run({{"x", F({size}, std::vector<float>(size, 1))}, {"n", I(1)}}).status());
  EXPECT_EQ(session.num_plans(), 16 + 20 + 16);  // of the main block the shapes used last
}

TEST(Control, AConditionThatIsFalseAtOnceRunsNothing) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kLoop));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({2}, {1, 7})}, {"n", I(-3)}}));
  EXPECT_EQ(Floats(out.at("y")), (std::vector<float>{1, 7}));
}

TEST(Control, WhileInsideWhile) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed n : i64 [1]
const zero : i64 [1] = [0]
const one : f32 [1] = [1.0]
const none : f32 [1] = [0.0]
carry i : i64 [1]
carry sum : f32 [1]
carry more : bool [1]
i <- assign(zero)
sum <- assign(none)
more <- less_than(i, n)
while(X=[n], Condition=more) -> Out<-[i, sum, more] sub_block=&outer
fetch sum
block outer parent=main {
  carry j : i64 [1]
  carry again : bool [1]
  j <- assign(zero)
  again <- less_than(j, i)
  while(X=[i], Condition=again) -> Out<-[j, sum, again] sub_block=&inner
  i <- increment(i)
  more <- less_than(i, n)
}
block inner parent=outer {
  sum <- elementwise_add(sum, one)
  j <- increment(j)
  again <- less_than(j, i)
}
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"n", I(6)}}));
  EXPECT_EQ(Floats(out.at("sum")), std::vector<float>{15});
}

constexpr char kIf[] = R"(
feed x : f32 [?]
feed flag : bool [1]
feed no_flag : bool [1]
carry a : f32 [?]
carry b : f32 [?]
conditional_block(Cond=[flag], Input=[x]) -> Out<-[a] is_scalar_condition=true sub_block=&then
conditional_block(Cond=[no_flag], Input=[x]) -> Out<-[b] is_scalar_condition=true sub_block=&else
mask = cast(flag) in_dtype=bool out_dtype=i32 : i32 [1]
select_input(X=[b, a], Mask=mask) -> Out=y : f32 [?]
z = scale(y) scale=10.0 : f32 [?]
fetch z
block then parent=main {
  a <- scale(x) bias=1.0
}
block else parent=main {
  t = scale(x) scale=-1.0 : f32 [?]
  concat(X=[t, t]) -> Out<-b axis=0
}
)";

TEST(Control, OneBranchRuns) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kIf));
  ASSERT_OK_AND_ASSIGN(TensorMap yes, session.Run({{"x", F({1}, {2})}, {"flag", B(true)}, {"no_flag", B(false)}}));
  EXPECT_EQ(Floats(yes.at("z")), std::vector<float>{30});
  ASSERT_OK_AND_ASSIGN(TensorMap no, session.Run({{"x", F({1}, {2})}, {"flag", B(false)}, {"no_flag", B(true)}}));
  EXPECT_EQ(Floats(no.at("z")), (std::vector<float>{-20, -20}));
}

TEST(Control, AValueThatNoBranchWrote) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kIf));
  ExpectError(session.Run({{"x", F({1}, {2})}, {"flag", B(false)}, {"no_flag", B(false)}}).status(), ExitCode::kUsage,
              "op 'select_input' -> 'y': operand 'b' has no value");
  ASSERT_OK_AND_ASSIGN(const Session direct, FromText(R"(
feed x : f32 [2]
feed flag : bool [1]
carry a : f32 [2]
conditional_block(Cond=[flag], Input=[x]) -> Out<-[a] is_scalar_condition=true sub_block=&then
s = scale(x) scale=2.0 : f32 [2]
y = elementwise_mul(s, a) : f32 [2]
fetch y, a
block then parent=main {
  a <- scale(x) bias=1.0
}
)"));
  ExpectError(direct.Run({{"x", F({2}, {2, 3})}, {"flag", B(false)}}).status(), ExitCode::kUsage,
              "op 'elementwise_mul' -> 'y': operand 'a' has no value");
}

// An if in a loop; the branches share what they capture.
constexpr char kIfInWhile[] = R"(
feed x : f32 [1]
const limit : f32 [1] = [4.5]
const count : i64 [1] = [6]
const zero : i64 [1] = [0]
carry i : i64 [1]
carry h : f32 [1]
carry more : bool [1]
i <- assign(zero)
h <- assign(x)
more <- less_than(i, count)
while(Condition=more, X=[x]) -> Out<-[i, h, more] sub_block=&body
fetch h
block body parent=main {
  carry up : f32 [1]
  carry down : f32 [1]
  small = less_than(h, limit) : bool [1]
  large = less_than(limit, h) : bool [1]
  conditional_block(Cond=[small], Input=[h, x]) -> Out<-[up] is_scalar_condition=true sub_block=&then
  conditional_block(Cond=[large], Input=[h]) -> Out<-[down] is_scalar_condition=true sub_block=&else
  mask = cast(small) in_dtype=bool out_dtype=i32 : i32 [1]
  select_input(X=[down, up], Mask=mask) -> Out=next : f32 [1]
  h <- assign(next)
  i <- increment(i)
  more <- less_than(i, count)
}
block then parent=body {
  up <- elementwise_add(h, x)
}
block else parent=body {
  down <- scale(h) scale=0.5
}
)";

TEST(Control, IfInsideWhile) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kIfInWhile));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", F({1}, {2})}}));
  EXPECT_EQ(Floats(out.at("h")), std::vector<float>{4.5});  // 2 4 6 3 5 2.5 4.5
}

// The values of a body's own carries are gone in the next iteration.
TEST(Control, EachIterationStartsWithoutLocals) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kIfInWhile));
  ExpectError(session.Run({{"x", F({1}, {1.5})}}).status(), ExitCode::kUsage, "operand 'down' has no value");  // 1.5 3 4.5
  ExpectError(session.Run({{"x", F({1}, {6})}}).status(), ExitCode::kUsage, "operand 'down' has no value");    // 6 3 9 4.5
}

// The length of range follows from a value; what stands behind it is planned for the dims that come out.
// The ops behind an index chosen by the loop's counter are planned once, not once per index.
// A carry in f16 is rounded each time that it is written, and fetched as f16.
TEST(Control, LowPrecisionCarries) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f16 [1]
feed n : i64 [1]
const zero : i64 [1] = [0]
carry i : i64 [1]
carry h : f16 [1]
carry more : bool [1]
i <- assign(zero)
h <- assign(x)
more <- less_than(i, n)
while(X=[n, x], Condition=more) -> Out<-[i, h, more] sub_block=&body
fetch h
block body parent=main {
  h <- elementwise_add(h, x)
  i <- increment(i)
  more <- less_than(i, n)
}
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", HostTensor::Of<Half>({1}, {Half(1.0f)})}, {"n", I(3000)}}));
  ASSERT_EQ(out.at("h").dtype(), DType::kF16);
  EXPECT_EQ(static_cast<float>(out.at("h").values<Half>()[0]), 2048);  // where f16 stops counting
}

// A state that the program overwrites starts anew in each run, as in a program of one plan.
TEST(Control, StateStartsAnew) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed flag : bool [1]
state n : i64 [1] = [7]
n <- increment(n)
conditional_block(Cond=[flag]) is_scalar_condition=true sub_block=&then
m = scale(n) scale=10.0 : i64 [1]
fetch m
block then parent=main {
  n <- increment(n)
}
)"));
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"flag", B(true)}}));
    EXPECT_EQ(Longs(out.at("m")), std::vector<int64_t>{90});
    ASSERT_OK_AND_ASSIGN(out, session.Run({{"flag", B(false)}}));
    EXPECT_EQ(Longs(out.at("m")), std::vector<int64_t>{80});
  }
}

class Counter : public StepObserver {
 public:
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    indices.insert(step.index);
    for (const ObservedValue& v : step.results) {
      if (v.var->name() == "h" && v.desc.dtype == DType::kF32) h.push_back(static_cast<const float*>(v.data)[0]);
    }
    return static_cast<int>(indices.size()) > stop ? NoError("enough") : absl::OkStatus();
  }
  std::set<int> indices;
  std::vector<float> h;
  int stop = 1000;
};

TEST(Control, ObserversSeeEveryIteration) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kLoop));
  const TensorMap feeds = {{"x", F({1}, {1})}, {"n", I(4)}};
  Counter counter;
  ASSERT_OK(session.Run(feeds, counter).status());
  EXPECT_EQ(counter.h, (std::vector<float>{1, 3, 7, 15, 31}));
  EXPECT_EQ(*counter.indices.rbegin() + 1, static_cast<int>(counter.indices.size()));
  Counter impatient;
  impatient.stop = 6;
  ExpectError(session.Run({{"x", F({1}, {1})}, {"n", I(int64_t{1} << 60)}}, impatient).status(), ExitCode::kNo, "enough");
}

TEST(Control, ThreadsShareASession) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kLoop));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const int64_t n = (t + i) % 5;
        const int64_t size = 1 + i % 3;
        const std::vector<float> x(size, static_cast<float>(t + 1));
        absl::StatusOr<TensorMap> out = session.Run({{"x", F({size}, x)}, {"n", I(n)}});
        const std::vector<float> want(size, static_cast<float>((t + 1) * ((2 << n) - 1)));
        if (!out.ok() || Floats(out->at("y")) != want) ++wrong[t];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace ampc
