// From a training program and its values to a model that only runs.
#include "runtime/train/save_inference.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "graph/formats/format.h"
#include "graph/text/printer.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two products in f16, one weight stored low with a master, one in fp32 with a cast; statistics, a seed, a scaled loss, an optimizer.
constexpr char kTrain[] = R"(
feed x : f32 [?, 4]
feed label : f32 [?, 3]
param w : f16 [4, 3] trainable !was=f32
param v : f32 [3, 3] trainable
param gamma : f32 [3] trainable
param beta : f32 [3] trainable
state mean : f32 [3]
state variance : f32 [3]
state w_fp32_master_0 : f32 [4, 3]
state velocity : f32 [4, 3]
state loss_scaling : f32 [1]
state rate : f32 [1]
state seed : i32 [1]
x.f16 = cast(x) in_dtype=f32 out_dtype=f16 !amp=inserted : f16 [?, 4]
h = matmul_v2(x.f16, w) !was=f32 : f16 [?, 3]
batch_norm(X=h, Scale=gamma, Bias=beta, Mean=mean, Variance=variance) -> Y=n, MeanOut<-mean, VarianceOut<-variance, SavedMean=m, SavedVariance=s !was=[f32, -, -] : f16 [?, 3], f32 [3], f32 [3]
seed <- increment(seed)
dropout(X=n, Seed=seed) -> Out=d, Mask=k dropout_implementation="upscale_in_train" !was=[f32, -] : f16 [?, 3], u8 [?, 3]
v.f16 = cast(v) in_dtype=f32 out_dtype=f16 !amp=inserted : f16 [3, 3]
o = matmul_v2(d, v.f16) !was=f32 : f16 [?, 3]
o.f32 = cast(o) in_dtype=f16 out_dtype=f32 !amp=inserted : f32 [?, 3]
p = softmax(o.f32) : f32 [?, 3]
e = elementwise_sub(p, label) : f32 [?, 3]
l = mean(e) : f32 [1]
scaled = elementwise_mul(l, loss_scaling) op_role=256 : f32 [1]
w_grad = fill_any_like(w) value=1.0 op_role=1 : f16 [4, 3]
momentum(Param=w, Grad=w_grad, Velocity=velocity, LearningRate=rate, MasterParam=w_fp32_master_0) -> ParamOut<-w, VelocityOut<-velocity, MasterParamOut<-w_fp32_master_0 mu=0.9 multi_precision=true op_role=2
fetch l
)";

// The forward part in fp32, as it would be written by hand.
constexpr char kPlain[] = R"(
feed x : f32 [?, 4]
param w : f32 [4, 3]
param v : f32 [3, 3]
param gamma : f32 [3]
param beta : f32 [3]
state mean : f32 [3]
state variance : f32 [3]
h = matmul_v2(x, w) : f32 [?, 3]
n = batch_norm(X=h, Scale=gamma, Bias=beta, Mean=mean, Variance=variance) is_test=true : f32 [?, 3]
d = dropout(n) dropout_implementation="upscale_in_train" is_test=true : f32 [?, 3]
o = matmul_v2(d, v) : f32 [?, 3]
p = softmax(o) is_test=true : f32 [?, 3]
fetch p
)";

HostTensor Values(const std::vector<int64_t>& dims, float first, float step) {
  int64_t n = 1;
  for (int64_t dim : dims) n *= dim;
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(first + step * static_cast<float>(i));
  return F(dims, values);
}

class SaveInference : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Program> program = testing::ParseBare(kTrain);
    ASSERT_OK(program.status());
    trained_ = std::move(*program);
    const HostTensor master = Values({4, 3}, -0.6001f, 0.1003f);  // none of them is an f16
    ASSERT_OK(scope_.Add("w", DType::kF16, master));
    ASSERT_OK(scope_.Add("w_fp32_master_0", DType::kF32, master));
    ASSERT_OK(scope_.Add("v", DType::kF32, Values({3, 3}, 0.7003f, -0.2101f)));
    ASSERT_OK(scope_.Add("gamma", DType::kF32, Values({3}, 1.5f, 0.3f)));
    ASSERT_OK(scope_.Add("beta", DType::kF32, Values({3}, -0.1f, 0.2f)));
    ASSERT_OK(scope_.Add("mean", DType::kF32, Values({3}, 0.05f, 0.1f)));
    ASSERT_OK(scope_.Add("variance", DType::kF32, Values({3}, 0.8f, 0.25f)));
  }

  absl::StatusOr<Program> Make(bool remove_amp_cast) const {
    return InferenceProgram(trained_, scope_, {"x"}, {"p"}, {.remove_amp_cast = remove_amp_cast});
  }

  static HostTensor Weight(const Program& program, absl::string_view name) {
    const Var* var = program.main().FindVar(name);
    if (var == nullptr || var->weight == nullptr) return HostTensor();
    absl::StatusOr<HostTensor> value = LoadWeight(*var->weight, var->type.dims);
    EXPECT_OK(value.status());
    return value.ok() ? *std::move(value) : HostTensor();
  }

  static std::vector<float> RunOn(absl::StatusOr<Session> session) {
    EXPECT_OK(session.status());
    if (!session.ok()) return {};
    absl::StatusOr<TensorMap> out = session->Run({{"x", Values({2, 4}, -0.9f, 0.3f)}});
    EXPECT_OK(out.status());
    return out.ok() ? Floats(out->at("p")) : std::vector<float>();
  }

  Program trained_;
  Scope scope_;
};

TEST_F(SaveInference, WithoutAmpItIsTheFp32ProgramWithTheMasters) {
  ASSERT_OK_AND_ASSIGN(Program program, Make(true));
  ASSERT_OK_AND_ASSIGN(Program plain, testing::ParseBare(kPlain));
  EXPECT_EQ(Weight(program, "w"), scope_.Find("w_fp32_master_0")->value);
  EXPECT_EQ(Weight(program, "variance"), scope_.Find("variance")->value);
  for (const std::unique_ptr<Var>& var : program.main().vars()) var->weight = nullptr;
  EXPECT_EQ(PrintProgram(program), PrintProgram(plain));
}

TEST_F(SaveInference, MixedItKeepsLowTypesAndStoresWeightsLow) {
  ASSERT_OK_AND_ASSIGN(const Program program, Make(false));
  EXPECT_EQ(Weight(program, "w").dtype(), DType::kF16);
  ASSERT_OK_AND_ASSIGN(const HostTensor low, scope_.Get("w"));
  EXPECT_EQ(Weight(program, "w"), low);
  EXPECT_EQ(Weight(program, "v").dtype(), DType::kF16);
  EXPECT_EQ(Weight(program, "gamma").dtype(), DType::kF32);
  const std::string text = PrintProgram(program);
  EXPECT_THAT(text, HasSubstr("x.f16 = cast(x)"));
  EXPECT_THAT(text, Not(HasSubstr("cast(v)")));
  EXPECT_THAT(text, Not(HasSubstr("momentum")));
  EXPECT_THAT(text, Not(HasSubstr("seed")));
  EXPECT_THAT(text, Not(HasSubstr("<-")));
}

// The two programs differ by rounding to f16, at every op; both run from every format as they run in memory.
TEST_F(SaveInference, RunsFromEveryFormat) {
  const std::filesystem::path dir = std::filesystem::path(::testing::TempDir()) / "save_inference";
  std::filesystem::create_directories(dir);
  std::vector<float> exact;
  for (const bool remove : {true, false}) {
    ASSERT_OK_AND_ASSIGN(Program program, Make(remove));
    const std::vector<float> want = RunOn(Session::Create(std::move(program), {.threads = 1}));
    ASSERT_EQ(want.size(), 6u);
    if (remove) exact = want;
    EXPECT_EQ(want == exact, remove);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(testing::Near(want[i], exact[i], testing::ToleranceFor(DType::kF16))) << want[i] << ' ' << exact[i];
    for (const char* extension : {".pdmodel", ".ampc", ".prog"}) {
      const std::string path = dir / ((remove ? "fp32" : "mixed") + std::string(extension));
      ASSERT_OK(SaveInferenceProgram(trained_, scope_, {"x"}, {"p"}, path, {.remove_amp_cast = remove}));
      EXPECT_EQ(RunOn(Session::Load(path, {.threads = 1})), want) << path;
    }
  }
}

// Paddle's batch_norm has to name its moving statistics as results, also in a test; they are the operands.
TEST_F(SaveInference, PaddleFilesNameTheStatistics) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / "statistics.pdmodel";
  ASSERT_OK(SaveInferenceProgram(trained_, scope_, {"x"}, {"p"}, path));
  ASSERT_OK_AND_ASSIGN(const Program read, LoadModel(path));
  EXPECT_THAT(PrintProgram(read), HasSubstr("MeanOut<-mean, VarianceOut<-variance"));
}

TEST_F(SaveInference, ErrorsNameTheValue) {
  const auto make = [this](std::vector<std::string> feeds, std::vector<std::string> fetches) {
    return InferenceProgram(trained_, scope_, feeds, fetches).status();
  };
  ExpectError(make({"x"}, {"q"}), ExitCode::kUsage, "the fetch 'q' is no value");
  ExpectError(make({"x", "label"}, {"p"}), ExitCode::kUsage, "do not need the feed 'label'");
  ExpectError(make({"x"}, {"l"}), ExitCode::kUsage, "need the feed 'label'");
  ExpectError(make({"x"}, {"w_grad"}), ExitCode::kUsage, "the fetch 'w_grad' is computed by the backward or optimizer part");
  Scope empty;
  ExpectError(InferenceProgram(trained_, empty, {"x"}, {"p"}).status(), ExitCode::kBadInput, "has no value in the scope");
  Scope other;
  ASSERT_OK(other.Add("w", DType::kF32, Values({3, 3}, 0, 1)));
  ExpectError(InferenceProgram(trained_, other, {"x"}, {"h"}).status(), ExitCode::kBadInput, "param 'w' is f32 [3, 3] in the scope");
}

// The values are copies.
TEST_F(SaveInference, FurtherTrainingDoesNotChangeIt) {
  ASSERT_OK_AND_ASSIGN(const Program program, Make(true));
  const HostTensor before = Weight(program, "v");
  ASSERT_OK(scope_.Set("v", Values({3, 3}, 9, 1)));
  EXPECT_EQ(Weight(program, "v"), before);
  ASSERT_OK_AND_ASSIGN(const Program later, Make(true));
  EXPECT_EQ(Weight(later, "v"), Values({3, 3}, 9, 1));
}

}  // namespace
}  // namespace ampc
