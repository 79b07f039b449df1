// Programs on a Scope: what ops overwrite stays there, in place, and reads see it in program order.
#include <gtest/gtest.h>

#include <string>

#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/verify.h"
#include "runtime/exec/feed_checks.h"
#include "runtime/exec/program_runner.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// A program, its scope with zeros in every param and state, and its runner.
struct Fixture {
  Scope scope;
  std::unique_ptr<ProgramRunner> runner;

  absl::Status Make(absl::string_view text) {
    absl::StatusOr<Program> program = testing::ParseBare(text);
    if (!program.ok()) return program.status();
    if (absl::Status s = Verify(*program); !s.ok()) return s;
    for (const std::unique_ptr<Var>& var : program->main().vars()) {
      if (var->kind != VarKind::kParam && var->kind != VarKind::kState) continue;
      absl::StatusOr<HostTensor> zeros = HostTensor::Create(StorageType(var->type.dtype), var->type.dims);
      if (!zeros.ok()) return zeros.status();
      if (absl::Status s = scope.Add(var->name(), var->type.dtype, *std::move(zeros)); !s.ok()) return s;
    }
    absl::StatusOr<std::unique_ptr<ProgramRunner>> made =
        ProgramRunner::Create(*std::move(program), {.threads = 1, .fuse = false, .scope = &scope});
    if (!made.ok()) return made.status();
    runner = *std::move(made);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<HostTensor>> Run(const TensorMap& feeds = {}) {
    absl::StatusOr<std::vector<const HostTensor*>> values = OrderFeeds(runner->program(), feeds);
    if (!values.ok()) return values.status();
    return runner->Run(*values, nullptr);
  }

  std::vector<float> Of(absl::string_view name) {
    const absl::Span<const float> values = scope.Find(name)->value.values<float>();
    return {values.begin(), values.end()};
  }
};

std::vector<float> Floats(const HostTensor& t) { return {t.values<float>().begin(), t.values<float>().end()}; }
HostTensor F(std::vector<int64_t> dims, std::initializer_list<float> values) { return HostTensor::Of<float>(dims, values); }

TEST(States, AStepOfGradientDescentMovesTheWeights) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  x : f32 [?, 2]
feed  t : f32 [?, 1]
param w : f32 [2, 1]
state steps : i64 [1]
y = matmul_v2(x, w) : f32 [?, 1]
d = elementwise_sub(y, t) : f32 [?, 1]
g = matmul_v2(x, d) trans_x=true : f32 [2, 1]
u = scale(g) scale=-0.5 : f32 [2, 1]
w <- elementwise_add(w, u)
steps <- increment(steps)
fetch d
fetch w
)"));
  const void* where = f.scope.Find("w")->value.data();
  const TensorMap feeds = {{"x", F({1, 2}, {1, 2})}, {"t", F({1, 1}, {4})}};
  ASSERT_OK_AND_ASSIGN(std::vector<HostTensor> first, f.Run(feeds));
  EXPECT_EQ(Floats(first[0]), (std::vector<float>{-4}));
  EXPECT_EQ(Floats(first[1]), (std::vector<float>{2, 4}));  // after the step
  ASSERT_OK_AND_ASSIGN(std::vector<HostTensor> second, f.Run(feeds));
  EXPECT_EQ(Floats(second[0]), (std::vector<float>{6}));
  EXPECT_EQ(f.Of("w"), (std::vector<float>{-1, -2}));
  EXPECT_EQ(f.scope.Find("steps")->value.values<int64_t>()[0], 2);
  EXPECT_EQ(f.scope.Find("w")->value.data(), where);
  EXPECT_EQ(f.runner->num_plans(), 1);
}

TEST(States, AReadSeesTheLastWriteInFrontOfIt) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  x : f32 [2]
state s : f32 [2]
before = scale(s) bias=10.0 : f32 [2]
s <- elementwise_add(s, x)
between = scale(s) bias=20.0 : f32 [2]
s <- elementwise_add(s, x)
after = scale(s) bias=30.0 : f32 [2]
fetch before
fetch between
fetch after
)"));
  ASSERT_OK_AND_ASSIGN(std::vector<HostTensor> out, f.Run({{"x", F({2}, {1, 2})}}));
  EXPECT_EQ(Floats(out[0]), (std::vector<float>{10, 10}));
  EXPECT_EQ(Floats(out[1]), (std::vector<float>{21, 22}));
  EXPECT_EQ(Floats(out[2]), (std::vector<float>{32, 34}));
}

// A reshape lies in its operand's memory; here that gets another value before the reshape is read for the last time.
TEST(States, AnAliasOutlivesTheNextWrite) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  x : f32 [2]
state s : f32 [2]
old = reshape2(s) shape=[2, 1] : f32 [2, 1]
same = assign(s) : f32 [2]
s <- elementwise_add(s, x)
new = reshape2(s) shape=[2, 1] : f32 [2, 1]
both = elementwise_sub(new, old) : f32 [2, 1]
fetch both
fetch old
fetch same
)"));
  ASSERT_OK(f.Run({{"x", F({2}, {1, 2})}}));
  ASSERT_OK_AND_ASSIGN(std::vector<HostTensor> out, f.Run({{"x", F({2}, {5, 7})}}));
  EXPECT_EQ(Floats(out[0]), (std::vector<float>{5, 7}));
  EXPECT_EQ(Floats(out[1]), (std::vector<float>{1, 2}));
  EXPECT_EQ(Floats(out[2]), (std::vector<float>{1, 2}));
  EXPECT_EQ(f.Of("s"), (std::vector<float>{6, 9}));
}

TEST(States, TwoStatesSwapThroughATemporary) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
state a : f32 [1]
state b : f32 [1]
t = assign(a) : f32 [1]
a <- assign(b)
b <- assign(t)
)"));
  ASSERT_OK(f.scope.Set("a", F({1}, {1})));
  ASSERT_OK(f.scope.Set("b", F({1}, {2})));
  ASSERT_OK(f.Run());
  EXPECT_EQ(f.Of("a"), (std::vector<float>{2}));
  EXPECT_EQ(f.Of("b"), (std::vector<float>{1}));
}

TEST(States, AConstantIsWrittenInEveryRun) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
state a : f32 [3]
state b : f32 [3]
a <- fill_constant() shape=[3l] value=7.0
b <- elementwise_add(b, a)
)"));
  ASSERT_OK(f.Run());
  ASSERT_OK(f.scope.Set("a", F({3}, {0, 0, 0})));
  ASSERT_OK(f.Run());
  EXPECT_EQ(f.Of("a"), (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(f.Of("b"), (std::vector<float>{14, 14, 14}));
}

// The state is the operand that the kernel reads last, and the one that it reads twice.
TEST(States, TheStateMayBeAnyOperand) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  x : f32 [2]
feed  y : f32 [2]
state s : f32 [2]
state d : f32 [2]
s <- sum(x, y, s)
d <- elementwise_add(x, d)
d <- sum(d, d, d)
)"));
  const TensorMap feeds = {{"x", F({2}, {1, 2})}, {"y", F({2}, {10, 20})}};
  ASSERT_OK(f.Run(feeds));
  ASSERT_OK(f.Run(feeds));
  EXPECT_EQ(f.Of("s"), (std::vector<float>{22, 44}));
  EXPECT_EQ(f.Of("d"), (std::vector<float>{12, 24}));
}

TEST(States, LowValuesAreKeptRounded) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  x : f16 [1]
state s : f16 [1]
s <- elementwise_add(s, x)
fetch s
)"));
  ASSERT_OK(f.scope.Set("s", F({1}, {2048.3f})));
  EXPECT_EQ(f.Of("s"), (std::vector<float>{2048}));
  ASSERT_OK_AND_ASSIGN(std::vector<HostTensor> out, f.Run({{"x", HostTensor::Of<Half>({1}, {Half(3.0f)})}}));
  EXPECT_EQ(out[0].dtype(), DType::kF16);
  EXPECT_EQ(f.Of("s"), (std::vector<float>{2052}));  // 2051 lies between two halves; the even one is taken
}

TEST(States, WeightsAreReadAgainInEveryRun) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  x : f32 [1, 1, 2, 2]
param w : f32 [1, 1, 1, 1]
param b : f32 [1]
c = conv2d(x, w) : f32 [1, 1, 2, 2]
y = elementwise_add(c, b) axis=1 : f32 [1, 1, 2, 2]
z = relu(y) : f32 [1, 1, 2, 2]
fetch z
)"));
  const TensorMap feeds = {{"x", F({1, 1, 2, 2}, {1, 2, 3, 4})}};
  for (float w : {1.0f, 2.0f, -3.0f}) {
    ASSERT_OK(f.scope.Set("w", F({1, 1, 1, 1}, {w})));
    ASSERT_OK(f.scope.Set("b", F({1}, {5})));
    ASSERT_OK_AND_ASSIGN(std::vector<HostTensor> out, f.Run(feeds));
    std::vector<float> want;
    for (float x : {1, 2, 3, 4}) want.push_back(std::max(0.0f, x * w + 5));
    EXPECT_EQ(Floats(out[0]), want);
  }
}

TEST(States, StatisticsOfBatchNormMoveAlong) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  x : f32 [?, 1, 1, 2]
param scale : f32 [1]
param bias : f32 [1]
state mean : f32 [1]
state variance : f32 [1]
batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> Y=y, MeanOut<-mean, VarianceOut<-variance momentum=0.5 : f32 [?, 1, 1, 2]
fetch y
)"));
  ASSERT_OK(f.scope.Set("scale", F({1}, {1})));
  ASSERT_OK(f.Run({{"x", F({1, 1, 1, 2}, {2, 4})}}));
  EXPECT_EQ(f.Of("mean"), (std::vector<float>{1.5}));
  EXPECT_EQ(f.Of("variance"), (std::vector<float>{0.5}));
  ASSERT_OK(f.Run({{"x", F({1, 1, 1, 2}, {2, 4})}}));
  EXPECT_EQ(f.Of("mean"), (std::vector<float>{2.25}));
}

// Gradients and their unscaled values share memory: the arena holds two tensors of 4000 bytes, and one flag.
TEST(States, UnscalingWorksInPlace) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  x : f32 [1000]
state scale : f32 [1]
state out : f32 [1000]
a = scale(x) scale=2.0 : f32 [1000]
b = scale(x) scale=3.0 : f32 [1000]
check_finite_and_unscale(X=[a, b], Scale=scale) -> Out=[c, d], FoundInfinite=found : f32 [1000], f32 [1000], bool [1]
out <- elementwise_add(c, d)
fetch found
)"));
  ASSERT_OK(f.scope.Set("scale", F({1}, {2})));
  absl::StatusOr<HostTensor> x = HostTensor::Create(DType::kF32, {1000});
  x->mutable_values<float>()[999] = 4;
  ASSERT_OK(f.Run({{"x", *x}}));
  EXPECT_EQ(f.Of("out")[999], 10);
  EXPECT_LE(f.runner->arena_bytes(), 2 * 4032 + 64);
}

TEST(States, ALoopWritesThemOnceItIsDone) {
  Fixture f;
  ASSERT_OK(f.Make(R"(
feed  n : i64 [1]
state total : f32 [1]
state runs : i64 [1]
state last : f32 [1]
carry i : i64 [1]
carry go : bool [1]
const one : f32 [1] = [1.0]
i <- fill_constant() shape=[1l] value=0.0 dtype=i64
go <- less_than(i, n)
while(X=[n], Condition=go) -> Out<-[i, go, total] sub_block=&body
last <- assign(total)
runs <- increment(runs)
fetch i
block body parent=main {
  total <- elementwise_add(total, one)
  i <- increment(i)
  go <- less_than(i, n)
}
)"));
  ASSERT_OK(f.Run({{"n", HostTensor::Of<int64_t>({1}, {3})}}));
  ASSERT_OK(f.Run({{"n", HostTensor::Of<int64_t>({1}, {4})}}));
  EXPECT_EQ(f.Of("total"), (std::vector<float>{7}));
  EXPECT_EQ(f.Of("last"), (std::vector<float>{7}));
  EXPECT_EQ(f.scope.Find("runs")->value.values<int64_t>()[0], 2);
}

TEST(States, AProgramThatDoesNotFitTheScope) {
  Scope scope;
  ASSERT_OK(scope.Add("s", DType::kF32, F({3}, {1, 2, 3})));
  const auto create = [&scope](absl::string_view text) {
    return ProgramRunner::Create(*testing::ParseBare(text), {.scope = &scope}).status();
  };
  const absl::Status absent = create("state q : f32 [3]\nq <- scale(q) scale=2.0\n");
  EXPECT_EQ(ExitCodeOf(absent), ExitCode::kUsage);
  EXPECT_EQ(absent.message(), "state 'q' is not in the scope");
  const absl::Status dims = create("state s : f32 [2]\ns <- scale(s) scale=2.0\n");
  EXPECT_EQ(dims.message(), "state 's' is f32 [3] in the scope, the program needs f32 [2]");
  const absl::Status narrow = create("state s : f16 [3]\ns <- scale(s) scale=2.0\n");
  EXPECT_EQ(narrow.message(), "state 's' is f32 [3] in the scope, the program needs f16 [3]");
}

TEST(Scope, Errors) {
  Scope scope;
  ASSERT_OK(scope.Add("weight", DType::kF16, F({2}, {1, 1.0001f})));
  EXPECT_EQ(scope.Find("weight")->value.values<float>()[1], 1.0f);
  EXPECT_EQ(scope.Add("weight", DType::kF32, F({1}, {1})).message(), "variable 'weight' is in the scope already");
  EXPECT_EQ(scope.Add("other", DType::kI64, F({1}, {1})).message(), "the value of 'other' is f32, needs i64");
  EXPECT_EQ(scope.Set("weigth", F({2}, {1, 2})).message(), "the scope has no variable 'weigth', did you mean 'weight'?");
  EXPECT_EQ(scope.Set("weight", F({1}, {1})).message(), "the value for 'weight' is f32 [1], needs f16 [2]");
  EXPECT_EQ(scope.SetDType("weight", DType::kI32).message(), "variable 'weight' is f16, which cannot become i32");
  ASSERT_OK(scope.SetDType("weight", DType::kF32));
  ASSERT_OK_AND_ASSIGN(HostTensor value, scope.Get("weight"));
  EXPECT_EQ(value.dtype(), DType::kF32);
  EXPECT_EQ(scope.bytes(), 8);
}

}  // namespace
}  // namespace ampc
