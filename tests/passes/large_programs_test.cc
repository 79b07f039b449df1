// Every pass and every standard pipeline over programs of many equal parts, each shape of which hides one way to take quadratic time or
// a stack as deep as the program: what is not linear runs into a limit of processor time, many times what the slowest needs, or overflows
// the stack.
#include <sys/resource.h>
#include <unistd.h>
#include <csignal>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/convert/options.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

struct Shape {
  const char* name;
  const char* begin;
  const char* part;  // # is its number, @ that of the part before
};

// `z` is what the first part finds as the result of the one before.
constexpr Shape kShapes[] = {
    {"chain", "feed x : f32 [4]\nz0 = relu(x) : f32 [4]\n", "z# = tanh(z@) : f32 [4]\n"},
    {"readers_of_one", "feed x : f32 [4]\nz0 = relu(x) : f32 [4]\n", "z# = tanh(x) : f32 [4]\n"},
    {"numbers_of_one", "feed x : f32 [4]\nz0 = relu(x) : f32 [4]\n", "z# = scale(x) scale=#.0 : f32 [4]\n"},
    {"many_casts_of_one", "feed x : f32 [4]\nz0 = relu(x) : f32 [4]\n",
     "c# = cast(z0) in_dtype=f32 out_dtype=f16 : f16 [4]\ns# = sigmoid(c#) : f16 [4]\nz# = elementwise_mul(c#, s#) : f16 [4]\n"},
    {"casts", "feed x : f32 [4]\nz0 = relu(x) : f32 [4]\n",
     "c# = cast(z@) in_dtype=f32 out_dtype=f16 : f16 [4]\nz# = cast(c#) in_dtype=f16 out_dtype=f32 : f32 [4]\n"},
    {"casts_each_read", "feed x : f32 [4]\nc0 = relu(x) : f32 [4]\nz0 = relu(x) : f32 [4]\n",
     "b# = cast(c@) in_dtype=f32 out_dtype=f16 : f16 [4]\nc# = cast(b#) in_dtype=f16 out_dtype=f32 : f32 [4]\n"
     "s# = sigmoid(c#) : f32 [4]\nz# = elementwise_mul(c#, s#) : f32 [4]\n"},
    {"constants", "feed x : f32 [4]\nz0 = relu(x) : f32 [4]\n", "const k# : f32 [] = [1.5]\nz# = elementwise_mul(z@, k#) : f32 [4]\n"},
    {"products_of_one", "feed x : f32 [4]\nz0 = sigmoid(x) : f32 [4]\n", "z# = elementwise_mul(x, z0) : f32 [4]\n"},
    {"quotients_of_one",
     "feed x : f32 [2, 4]\nm = reduce_mean(x) dim=[-1] keep_dim=true : f32 [2, 1]\nd = elementwise_sub(x, m) : f32 [2, 4]\n"
     "z0 = relu(x) : f32 [2, 4]\n",
     "q# = elementwise_mul(d, d) : f32 [2, 4]\nv# = reduce_mean(q#) dim=[-1] keep_dim=true : f32 [2, 1]\n"
     "e# = scale(v#) bias=1e-05 : f32 [2, 1]\ns# = sqrt(e#) : f32 [2, 1]\nz# = elementwise_div(d, s#) : f32 [2, 4]\n"},
    {"scores_of_one",
     "feed q : f32 [2, 4, 4]\nfeed k : f32 [2, 4, 4]\ns = matmul_v2(q, k) trans_y=true : f32 [2, 4, 4]\nz0 = relu(q) : f32 [2, 4, 4]\n",
     "p# = softmax(s) axis=-1 : f32 [2, 4, 4]\nz# = matmul_v2(p#, q) : f32 [2, 4, 4]\n"},
    {"convolutions_of_one",
     "feed x : f32 [1, 2, 4, 4]\nparam w : f32 [2, 2, 1, 1] = [1, 2, 3, 4]\nparam b : f32 [2, 1, 1] = [1, 2]\nz0 = relu(x) : f32 [1, 2, 4, "
     "4]\n",
     "c# = conv2d(x, w) : f32 [1, 2, 4, 4]\na# = elementwise_add(c#, b) : f32 [1, 2, 4, 4]\nz# = relu(a#) : f32 [1, 2, 4, 4]\n"},
    {"gates_in_a_row",
     "feed x : f32 [2, 4]\nparam w : f32 [4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]\nz0 = relu(x) : f32 [2, 4]\n",
     "p# = matmul_v2(z@, w) : f32 [2, 4]\ng# = sigmoid(p#) : f32 [2, 4]\nh# = elementwise_mul(p#, g#) : f32 [2, 4]\n"
     "z# = elementwise_add(h#, z0) : f32 [2, 4]\n"},
    {"masks_in_a_row", "feed x : f32 [4]\nfeed m : bool [4]\nz0 = tanh(x) : f32 [4]\n",
     "const k# : f32 [4] = [-1e9, -1e9, -1e9, -1e9]\nz# = where(m, z@, k#) : f32 [4]\n"},
    {"convolutions_of_one_dimension", "feed x : f32 [1, 2, 4]\nparam w : f32 [2, 2, 1, 1] = [1, 2, 3, 4]\nz0 = relu(x) : f32 [1, 2, 4]\n",
     "u# = unsqueeze2(z@) axes=[2] : f32 [1, 2, 1, 4]\nc# = conv2d(u#, w) : f32 [1, 2, 1, 4]\ns# = squeeze2(c#) axes=[2] : f32 [1, 2, 4]\n"
     "z# = relu(s#) : f32 [1, 2, 4]\n"},
    {"enlarged_of_one",
     "feed x : f32 [1, 2, 2, 2]\nfeed y : f32 [1, 2, 4, 4]\nparam w : f32 [1, 4, 1, 1] = [1, 2, 3, 4]\nz0 = relu(y) : f32 [1, 2, 4, 4]\n",
     "r# = nearest_interp_v2(x) scale=[2.0, 2.0] : f32 [1, 2, 4, 4]\nj# = concat(r#, y) axis=1 : f32 [1, 4, 4, 4]\n"
     "z# = conv2d(j#, w) : f32 [1, 1, 4, 4]\n"},
};

int Parts() {
  const char* text = std::getenv("AMPC_LARGE_PARTS");
  return text == nullptr ? 50000 : std::atoi(text);
}

// The last result of the parts is fetched, and of the others what `all` says.
Program Large(const Shape& shape, bool all) {
  const int parts = Parts();
  std::string text = shape.begin;
  for (int i = 1; i <= parts; ++i) {
    absl::StrAppend(&text, absl::StrReplaceAll(shape.part, {{"#", absl::StrCat(i)}, {"@", absl::StrCat(i - 1)}}));
  }
  for (int i = all ? 1 : parts; i <= parts; ++i) absl::StrAppend(&text, "fetch z", i, "\n");
  absl::StatusOr<Program> program = testing::ParseBare(text);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : Program();
}

std::string running;  // the pass

// Ends the process when `pass` has used eight seconds of processor time; a busy machine does not matter.
void Limit(const std::string& pass) {
  running = absl::StrCat("no end within the limit of processor time: ", pass, "\n");
  std::signal(SIGXCPU, [](int) { _exit(write(STDERR_FILENO, running.data(), running.size()) < 0 ? 2 : 1); });
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const rlimit limit = {static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec + 8), RLIM_INFINITY};
  setrlimit(RLIMIT_CPU, &limit);
}

absl::Status RunOn(const Pipeline& pipeline, Program program) {
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  PipelineOptions options;
  options.verify_each = false;
  options.before = [](const PipelineStep& step) {
    Limit(step.pass);
    return absl::OkStatus();
  };
  return RunPipeline(pipeline, options, ctx, program);
}

class LargeProgram : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, LargeProgram, ::testing::ValuesIn(kShapes),
                         [](const ::testing::TestParamInfo<Shape>& info) { return std::string(info.param.name); });

// A pass may miss an option or a pattern; it says so then, or changes nothing.
TEST_P(LargeProgram, GoesThroughEveryPass) {
  const Program program = Large(GetParam(), true);
  for (const PassInfo* pass : Passes().All()) {
    const absl::Status status = RunOn(Pipeline().Add(pass->name), program.Clone());
    EXPECT_FALSE(absl::IsInternal(status)) << pass->name << ": " << status.message();
  }
}

TEST_P(LargeProgram, GoesThroughEveryPipeline) {
  for (bool all : {false, true}) {
    const Program program = Large(GetParam(), all);
    PlanOptions plan;
    plan.elementwise = plan.attention = plan.excess = true;
    EXPECT_OK(RunOn(PlanPipeline(plan), program.Clone()));
    ConvertOptions convert;
    for (const char* level : {"O1", "O2"}) {
      convert.level = level;
      EXPECT_OK(RunOn(ConvertPipeline(convert), program.Clone()));
    }
    convert.level = "auto";
    EXPECT_OK(RunOn(ConvertPipeline(convert), program.Clone()));
  }
}

}  // namespace
}  // namespace ampc
