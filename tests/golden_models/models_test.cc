// Small Paddle models of several kinds: a detector, a recogniser of text lines, an encoder of text, a speech model, a decoder with a loop.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/convert/convert.h"
#include "tests/formats/test_files.h"
#include "tests/golden_models/model_data.h"
#include "tests/testlib/read_only_feeds.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

std::string Params(const std::string& model) { return std::filesystem::path(model).replace_extension(".pdiparams").string(); }

std::vector<std::string> Signature(const Session& session) {
  std::vector<std::string> out;
  for (const ValueInfo& v : session.inputs()) out.push_back(absl::StrCat("feed ", v.name, " : ", ToString(v.type)));
  for (const ValueInfo& v : session.outputs()) out.push_back(absl::StrCat("fetch ", v.name, " : ", ToString(v.type)));
  return out;
}

class Original : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Models, Original, ::testing::Values("detector", "recogniser", "encoder", "speech", "decoder"),
                         [](const auto& info) { return info.param; });

TEST_P(Original, EveryOpHasARecord) {
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(GoldenModel(GetParam())));
  EXPECT_OK(Verify(program));
  ForEachOp(program, [](const Op& op) { EXPECT_FALSE(op.def().opaque) << Describe(op); });
}

TEST_P(Original, SavesTheBytesThatItLoads) {
  const TempFolder folder;
  const std::string path = GoldenModel(GetParam());
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(path));
  ASSERT_OK(SaveModel(program, folder / "copy.pdmodel", {.no_sync = true}));
  EXPECT_TRUE(ReadFile(folder / "copy.pdmodel") == ReadFile(path));
  EXPECT_TRUE(ReadFile(folder / "copy.pdiparams") == ReadFile(Params(path)));
}

void ExpectGoldenRuns(const std::string& name, DType dtype, const Session& session) {
  ASSERT_OK_AND_ASSIGN(const std::vector<GoldenRun> runs, GoldenRuns(name));
  ASSERT_EQ(runs.size(), 2u);
  for (size_t k = 0; k < runs.size(); ++k) {
    ASSERT_OK_AND_ASSIGN(const ReadOnlyFeeds in, ReadOnlyFeeds::Of(runs[k].in));
    ASSERT_OK_AND_ASSIGN(const TensorMap out, session.Run(in.feeds()));
    ASSERT_EQ(out.size(), runs[k].out.size());
    for (const auto& [fetch, needed] : runs[k].out) {
      ASSERT_TRUE(out.contains(fetch)) << fetch;
      EXPECT_EQ(DiffModelResult(name, dtype, out.at(fetch), needed), "") << "run " << k << ", fetch " << fetch;
    }
  }
}

TEST_P(Original, GivesWhatPaddleGives) {
  for (const bool strict : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(GoldenModel(GetParam()), {.threads = 2, .strict_rounding = strict}));
    ExpectGoldenRuns(GetParam(), DType::kF32, session);
  }
}

class Converted : public ::testing::TestWithParam<std::tuple<const char*, DType, const char*>> {
 protected:
  void SetUp() override {
    folder_ = std::make_unique<TempFolder>();
    path_ = *folder_ / "low.pdmodel";
    ASSERT_OK_AND_ASSIGN(result_, Convert(GoldenModel(name()), path_));
  }
  std::string name() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  absl::StatusOr<ConvertResult> Convert(const std::string& from, const std::string& to, const std::string& target = "cuda") const {
    ConvertOptions convert;
    convert.model = from;
    convert.output = to;
    convert.dtype = dtype();
    convert.level = std::get<2>(GetParam());
    convert.target = target;
    convert.no_sync = true;
    return ampc::Convert(convert);
  }

  std::unique_ptr<TempFolder> folder_;
  std::string path_;
  ConvertResult result_;
};
INSTANTIATE_TEST_SUITE_P(Models, Converted,
                         ::testing::Combine(::testing::Values("detector", "recogniser", "encoder", "speech", "decoder"),
                                            ::testing::Values(DType::kF16, DType::kBF16), ::testing::Values("O1", "O2")),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param), "_", Name(std::get<1>(info.param)), "_", std::get<2>(info.param));
                         });

TEST_P(Converted, MostOfTheWorkIsLow) {
  const bool recurrent = name() == "recogniser" || name() == "speech";  // no target has low kernels for rnn
  EXPECT_EQ(result_.before.low_ops, 0);
  EXPECT_GE(result_.after.low_flops_share(), recurrent ? 0.5 : 0.95);
  EXPECT_LT(result_.bytes_after, result_.bytes_before);
}

TEST_P(Converted, KeepsTheSignature) {
  ASSERT_OK_AND_ASSIGN(const Session before, Session::Load(GoldenModel(name())));
  ASSERT_OK_AND_ASSIGN(const Session after, Session::Load(path_));
  EXPECT_EQ(Signature(after), Signature(before));
}

TEST_P(Converted, GivesNearlyWhatPaddleGives) {
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(path_, {.threads = 2}));
  ExpectGoldenRuns(name(), dtype(), session);
}

// The CPU has low kernels of ops that stay fp32 for CUDA.
TEST_P(Converted, ForTheCpuGivesNearlyWhatPaddleGives) {
  ASSERT_OK(Convert(GoldenModel(name()), *folder_ / "cpu.pdmodel", "cpu"));
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(*folder_ / "cpu.pdmodel", {.threads = 2}));
  ExpectGoldenRuns(name(), dtype(), session);
}

TEST_P(Converted, ConvertingTwiceChangesNothing) {
  ASSERT_OK(Convert(path_, *folder_ / "twice.pdmodel"));
  EXPECT_TRUE(ReadFile(*folder_ / "twice.pdmodel") == ReadFile(path_));
  EXPECT_TRUE(ReadFile(*folder_ / "twice.pdiparams") == ReadFile(Params(path_)));
}

TEST_P(Converted, StripRestoresTheProgram) {
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(path_));
  ASSERT_OK_AND_ASSIGN(const PrecisionSupport* support, TargetSupport("cuda"));
  PassContext ctx;
  ctx.support = support;
  ASSERT_OK(RunPipeline(StripPipeline(), {}, ctx, program));
  ASSERT_OK(SaveModel(program, *folder_ / "back.pdmodel", {.no_sync = true}));
  EXPECT_TRUE(ReadFile(*folder_ / "back.pdmodel") == ReadFile(GoldenModel(name())));
  EXPECT_EQ(ReadFile(*folder_ / "back.pdiparams").size(), ReadFile(Params(GoldenModel(name()))).size());
}

}  // namespace
}  // namespace ampc::testing
