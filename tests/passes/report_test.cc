#include "passes/amp/report/report.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "passes/analysis/target_support.h"
#include "runtime/convert/options.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

constexpr char kText[] = R"(
feed  x : f32 [4, 8]
param w : f32 [8, 8]
param u : f32 [8, 8]
h = matmul_v2(x, w) : f32 [4, 8]
e = exp(h) : f32 [4, 8]
f = matmul_v2(e, u) : f32 [4, 8]
s = shape(f) : i32 [2]
k = log(u) : f32 [8, 8]
fetch f, s, k
)";

std::unique_ptr<WeightRef> Weight(std::initializer_list<float> first) {
  HostTensor t = *HostTensor::Create(DType::kF32, {8, 8});
  std::copy(first.begin(), first.end(), t.mutable_values<float>().begin());
  auto ref = std::make_unique<WeightRef>();
  ref->source = WeightBuffer(std::string(static_cast<const char*>(t.data()), t.size_bytes()));
  ref->bytes = t.size_bytes();
  ref->dtype = DType::kF32;
  return ref;
}

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    program_.main().FindVar("w")->weight = Weight({1e6f, 1e-9f, 1e-7f, 3});
    program_.main().FindVar("u")->weight = Weight({1});
    ctx_.support = *TargetSupport("cuda");
    ConvertOptions options;
    options.black_vars = {"f"};
    const absl::Status status = RunPipeline(ConvertPipeline(options), {}, ctx_, program_);
    ASSERT_TRUE(status.ok()) << status.message();
    report_ = MakeAmpReport(program_, ctx_.Find<AmpDecision>());
  }
  Program program_ = testing::BareProgram(kText);
  PassContext ctx_;
  AmpReport report_;
};

TEST_F(ReportTest, CountsOpsAndWork) {
  EXPECT_EQ(report_.low_ops, 1);
  EXPECT_EQ(report_.fp32_ops, 4);
  EXPECT_EQ(report_.untouched_ops, 0);
  EXPECT_EQ(report_.all_flops, 2 * 2.0 * 4 * 8 * 8);
  EXPECT_EQ(report_.low_flops, 2.0 * 4 * 8 * 8);
  ASSERT_EQ(report_.ops.size(), 5u);
  EXPECT_EQ(report_.ops[0].precision, "low");
  EXPECT_EQ(report_.ops[0].rule, "allow");
  EXPECT_EQ(report_.ops[2].value, "f");
  EXPECT_EQ(report_.ops[2].rule, "black-vars");
}

TEST_F(ReportTest, ListsCastsWithTheirReaders) {
  ASSERT_EQ(report_.casts.size(), 2u);
  EXPECT_EQ(report_.casts[0].source, "x");
  EXPECT_EQ(report_.casts[0].to, DType::kF16);
  EXPECT_EQ(report_.casts[0].consumers, std::vector<std::string>{"h"});
  EXPECT_EQ(report_.casts[1].result, "h.f32");
  EXPECT_EQ(report_.casts[1].consumers, std::vector<std::string>{"e"});
}

TEST_F(ReportTest, MeasuresWhatAWeightLoses) {
  ASSERT_EQ(report_.weights.size(), 1u);
  EXPECT_EQ(report_.weights[0].name, "w");
  EXPECT_FALSE(report_.weights[0].copy);
  ASSERT_TRUE(MeasureWeights(program_, &report_).ok());
  const WeightDamage& damage = report_.weights[0].damage;
  EXPECT_EQ(damage.elements, 64);
  EXPECT_EQ(damage.clamped, 1);
  EXPECT_EQ(damage.flushed, 1);
  EXPECT_EQ(damage.subnormal, 1);
  EXPECT_EQ(damage.max_abs, 1e6);
}

TEST_F(ReportTest, IsJson) {
  JsonWriter json;
  json.BeginObject();
  WriteAmpReport(report_, json);
  json.EndObject();
  const std::string text = json.Take();
  EXPECT_NE(text.find("\"low_flops_share\":0.5"), std::string::npos) << text;
  EXPECT_NE(text.find("\"rule\":\"black-vars\""), std::string::npos) << text;
  for (const char* part :
       {R"({"mode":"own","level":"O2","low":"float16","low_ops":1,"fp32_ops":4,"untouched_ops":0,"low_flops_share":0.5,"types":[)",
        R"({"op":"matmul_v2","low":1,"fp32":1,"none":0},{"op":"shape","low":0,"fp32":1,"none":0}],)",
        R"("omitted":{"ops":0,"casts":0,"weights":0},)"
        R"("ops":[{"op":"matmul_v2","value":"h","precision":"low","dtype":"float16","rule":"allow",)",
        R"("casts":[{"source":"x","result":"x.f16","from":"float32","to":"float16","consumers":["h"],"reason":")",
        R"({"source":"h","result":"h.f32","from":"float16","to":"float32","consumers":["e"],"reason":")",
        R"("weights":[{"name":"w","from":"float32","to":"float16","copy":false}]})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
  }
}

TEST(Report, OfNothing) {
  const Program program = testing::BareProgram(kText);
  const AmpReport report = MakeAmpReport(program, nullptr);
  EXPECT_EQ(report.level, "O0");
  EXPECT_EQ(report.untouched_ops, 5);
  EXPECT_TRUE(report.casts.empty());
}

TEST(Report, OfNoConvolutionOrProductHasNoShare) {
  JsonWriter json;
  json.BeginObject();
  WriteAmpReport(AmpReport(), json);
  json.EndObject();
  const std::string text = json.Take();
  EXPECT_NE(text.find("\"low_flops_share\":null"), std::string::npos) << text;
}

}  // namespace
}  // namespace ampc
