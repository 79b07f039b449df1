// Real ONNX models, in fp32 and converted: the numbers against ONNX Runtime's, the answers, and that nothing depends on how they are run.
#include "absl/strings/str_cat.h"
#include "runtime/compare/difference.h"
#include "runtime/convert/model_facts.h"
#include "tests/e2e/process.h"
#include "tests/e2e/real_models.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/model_tolerance.h"
#include "tests/testlib/read_only_feeds.h"
#include "tests/testlib/status.h"
#include "tools/quickstart/task.h"

namespace ampc::testing {
namespace {

std::vector<RealCase> Cases(const std::vector<DType>& dtypes) {
  std::vector<RealCase> cases;
  for (const char* name : {"ppocrv4_rec_onnx", "ppocr_cls_onnx", "magika", "silero_vad", "silero_vad_ifless", "basic_pitch", "minilm"}) {
    for (DType dtype : dtypes) cases.push_back({name, dtype});
  }
  return cases;
}

std::string CaseName(const ::testing::TestParamInfo<RealCase>& info) { return absl::StrCat(info.param.name, "_", Name(info.param.dtype)); }

class RunOnnxModel : public RealModelTest {};
INSTANTIATE_TEST_SUITE_P(Models, RunOnnxModel, ::testing::ValuesIn(Cases({DType::kF32, DType::kF16, DType::kBF16})), CaseName);

TEST_P(RunOnnxModel, NumbersAndAnswersAreThoseOfOnnxRuntime) {
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(model_.path, {.threads = 1}));
  for (int k : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(const TensorMap feeds, StoredInputs(GetParam().name, k));
    ASSERT_OK_AND_ASSIGN(const TensorMap want, StoredOutputs(GetParam().name, k));
    ASSERT_OK_AND_ASSIGN(const ReadOnlyFeeds given, ReadOnlyFeeds::Of(feeds));
    ASSERT_OK_AND_ASSIGN(const TensorMap got, session.Run(given.feeds()));
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, tensor] : want) {
      ASSERT_TRUE(got.contains(name)) << name;
      ASSERT_EQ(got.at(name).dims(), tensor.dims()) << name;
      const Difference d = Compare(ToDoubles(tensor), ToDoubles(got.at(name)), DType::kF32);
      EXPECT_EQ(d.mismatched_non_finite, 0) << name << " " << k;
      EXPECT_LE(d.max_rel, OnnxModelTolerance(GetParam().name, GetParam().dtype)) << name << " " << k;
    }
    ASSERT_OK_AND_ASSIGN(const Answer answer, Decode(task_, feeds, got));
    ASSERT_OK_AND_ASSIGN(const Answer reference, Decode(task_, feeds, want));
    EXPECT_TRUE(Same(task_, reference, answer))
        << ::testing::PrintToString(answer.texts) << ", in fp32 " << ::testing::PrintToString(reference.texts);
  }
}

// Without --dims: sizes that fit each other are found.
TEST_P(RunOnnxModel, TakesFeedsThatAreMadeUp) {
  const TempFolder folder;
  const Outcome outcome = RunProcess("tools/ampc", {"run", model_.path, "--random", "--threads", "1"}, folder.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

// One Session sees both sets of feeds, whose sizes differ; each gives what a new Session gives, with any number of threads.
TEST_P(RunOnnxModel, NeitherEarlierRunsNorThreadsChangeTheNumbers) {
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(model_.path, {.threads = 1}));
  for (int k : {1, 0, 1}) {
    ASSERT_OK_AND_ASSIGN(const TensorMap feeds, StoredInputs(GetParam().name, k));
    ASSERT_OK_AND_ASSIGN(const TensorMap got, session.Run(feeds));
    ASSERT_OK_AND_ASSIGN(const Session fresh, Session::Load(model_.path, {.threads = 2}));
    ASSERT_OK_AND_ASSIGN(const TensorMap want, fresh.Run(feeds));
    EXPECT_TRUE(got == want) << k;
  }
}

class ConvertedOnnxModel : public RealModelTest {
 protected:
  std::string original() const { return OriginalPath(GetParam().name); }
};
INSTANTIATE_TEST_SUITE_P(Models, ConvertedOnnxModel, ::testing::ValuesIn(Cases({DType::kF16, DType::kBF16})), CaseName);

TEST_P(ConvertedOnnxModel, MostOfTheWorkIsLow) {
  EXPECT_GT(model_.converted.before.matmul_flops, 0);
  EXPECT_EQ(model_.converted.before.low_ops, 0);
  EXPECT_GE(model_.converted.after.low_flops_share(), 0.9);
  EXPECT_LT(model_.converted.bytes_after, model_.converted.bytes_before);
}

TEST_P(ConvertedOnnxModel, SignatureKeepsItsTypes) {
  ASSERT_OK_AND_ASSIGN(const Session before, Session::Load(original()));
  ASSERT_OK_AND_ASSIGN(const Session after, Session::Load(model_.path));
  EXPECT_EQ(SignatureText(after.inputs()), SignatureText(before.inputs()));
  EXPECT_EQ(SignatureText(after.outputs()), SignatureText(before.outputs()));
}

TEST_P(ConvertedOnnxModel, ConvertingTwiceChangesNothing) {
  const TempFolder folder;
  ASSERT_OK(ConvertTo(GetParam().dtype, model_.path, folder / "twice.onnx", nullptr));
  EXPECT_TRUE(ReadFile(folder / "twice.onnx") == ReadFile(model_.path));
}

TEST_P(ConvertedOnnxModel, StripRestoresTheOriginal) {
  const TempFolder folder;
  const Outcome strip =
      RunProcess("tools/ampc", {"strip", model_.path, "-o", "back.onnx", "--no-sync", "--weights", original()}, folder.path());
  ASSERT_EQ(strip.code, 0) << strip.err;
  if (ReadFile(folder / "back.onnx") == ReadFile(original())) return;
  // If bf16 needed a newer operator set, an attribute may have become an operand: the same numbers then, bit for bit.
  EXPECT_EQ(GetParam().dtype, DType::kBF16);
  ASSERT_OK_AND_ASSIGN(const TensorMap feeds, StoredInputs(GetParam().name, 0));
  ASSERT_OK_AND_ASSIGN(const Session back, Session::Load(folder / "back.onnx", {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(const Session before, Session::Load(original(), {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(const TensorMap got, back.Run(feeds));
  ASSERT_OK_AND_ASSIGN(const TensorMap want, before.Run(feeds));
  EXPECT_TRUE(got == want);
}

class OriginalOnnxModel : public ConvertedOnnxModel {};
INSTANTIATE_TEST_SUITE_P(Models, OriginalOnnxModel, ::testing::ValuesIn(Cases({DType::kF32})), CaseName);

TEST_P(OriginalOnnxModel, O0CopiesTheFile) {
  const TempFolder folder;
  ASSERT_OK(ConvertTo(DType::kF16, original(), folder / "copy.onnx", nullptr, "O0"));
  EXPECT_TRUE(ReadFile(folder / "copy.onnx") == ReadFile(original()));
}

}  // namespace
}  // namespace ampc::testing
