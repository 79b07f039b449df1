// Two real models, in fp32 and converted: the numbers against the real Paddle's, the answers, and that nothing depends on how they are run.
#include "tests/e2e/real_models.h"

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "graph/formats/format.h"
#include "runtime/compare/difference.h"
#include "runtime/convert/model_facts.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/model_tolerance.h"
#include "tests/testlib/status.h"
#include "tools/quickstart/task.h"

namespace ampc::testing {
namespace {

std::string CaseName(const ::testing::TestParamInfo<RealCase>& info) { return absl::StrCat(info.param.name, "_", Name(info.param.dtype)); }

const std::vector<RealCase> kOriginals = {{"rec", DType::kF32}, {"cls", DType::kF32}};
const std::vector<RealCase> kConverted = {{"rec", DType::kF16}, {"rec", DType::kBF16}, {"cls", DType::kF16}, {"cls", DType::kBF16}};
const std::vector<RealCase> kAll = {{"rec", DType::kF32}, {"rec", DType::kF16}, {"rec", DType::kBF16},
                                    {"cls", DType::kF32}, {"cls", DType::kF16}, {"cls", DType::kBF16}};

// The first `batch` images, the first `width` columns of each.
HostTensor Crop(const HostTensor& x, int64_t batch, int64_t width) {
  const int64_t rows = x.dims()[1] * x.dims()[2], columns = x.dims()[3];
  std::vector<float> values;
  for (int64_t row = 0; row < batch * rows; ++row) {
    const auto line = x.values<float>().subspan(row * columns, width);
    values.insert(values.end(), line.begin(), line.end());
  }
  return HostTensor::FromValues<float>({batch, x.dims()[1], x.dims()[2], width}, values);
}

// Every step of a run: what it was, and the bytes of its results.
class Steps : public StepObserver {
 public:
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    steps.emplace_back(absl::StrCat(Describe(*step.op), " by ", step.implementation), "");
    for (const ObservedValue& v : step.results) {
      steps.back().second.append(static_cast<const char*>(v.data), v.desc.NumElements() * SizeOf(StorageType(v.desc.dtype)));
    }
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, std::string>> steps;
};

class RunRealModel : public RealModelTest {};
INSTANTIATE_TEST_SUITE_P(Models, RunRealModel, ::testing::ValuesIn(kAll), CaseName);

TEST_P(RunRealModel, NumbersAndAnswersAreThoseOfPaddle) {
  const ModelTolerance tolerance = ModelToleranceFor(GetParam().name, GetParam().dtype);
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(model_.path, {.threads = 1}));
  for (int k : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(const TensorMap feeds, StoredInputs(GetParam().name, k));
    ASSERT_OK_AND_ASSIGN(const TensorMap want, StoredOutputs(GetParam().name, k));
    ASSERT_OK_AND_ASSIGN(const TensorMap got, session.Run(feeds));
    ASSERT_EQ(got.size(), 1u);
    ASSERT_EQ(got.begin()->first, want.begin()->first);
    ASSERT_EQ(got.begin()->second.dims(), want.begin()->second.dims());
    const Difference d = Compare(ToDoubles(want.begin()->second), ToDoubles(got.begin()->second), DType::kF32);
    EXPECT_EQ(d.mismatched_non_finite, 0);
    EXPECT_LE(d.max_rel, tolerance.max_rel) << k;
    EXPECT_GE(d.cosine, tolerance.cosine) << k;
    ASSERT_OK_AND_ASSIGN(const Answer answer, Decode(task_, feeds, got));
    ASSERT_OK_AND_ASSIGN(const Answer paddle, Decode(task_, feeds, want));
    EXPECT_EQ(answer.texts, paddle.texts) << k;
    for (const std::string& text : answer.texts) EXPECT_NE(text, "");
  }
}

// One Session sees batches and widths come and go; each gives what a new Session gives.
TEST_P(RunRealModel, ShapesMayChangeFromRunToRun) {
  ASSERT_OK_AND_ASSIGN(const TensorMap stored, StoredInputs(GetParam().name, 1));
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(model_.path, {.threads = 1}));
  const std::string feed = stored.begin()->first;
  for (const auto& [batch, width] : {std::pair{1, 64}, std::pair{2, 96}, std::pair{1, 96}, std::pair{1, 64}}) {
    const HostTensor x = Crop(stored.begin()->second, batch, width);
    ASSERT_OK_AND_ASSIGN(const Session fresh, Session::Load(model_.path, {.threads = 1}));
    ASSERT_OK_AND_ASSIGN(const TensorMap want, fresh.Run({{feed, x}}));
    ASSERT_OK_AND_ASSIGN(const TensorMap got, session.Run({{feed, x}}));
    EXPECT_TRUE(got == want) << batch << " x " << width;
  }
  EXPECT_EQ(session.num_plans(), 3);
}

TEST_P(RunRealModel, ThreadsMayShareASession) {
  ASSERT_OK_AND_ASSIGN(const TensorMap stored, StoredInputs(GetParam().name, 1));
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(model_.path, {.threads = 1}));
  const TensorMap feeds[2] = {{{stored.begin()->first, Crop(stored.begin()->second, 1, 64)}},
                              {{stored.begin()->first, Crop(stored.begin()->second, 2, 96)}}};
  absl::StatusOr<TensorMap> want[2] = {session.Run(feeds[0]), session.Run(feeds[1])};
  ASSERT_OK(want[0]);
  ASSERT_OK(want[1]);
  bool same[2] = {true, true};
  const auto work = [&](int first) {
    for (int i = 0; i < 6; ++i) {
      const int which = (first + i) % 2;  // the same feeds at the same time, and different ones
      const absl::StatusOr<TensorMap> got = session.Run(feeds[which]);
      same[first] = same[first] && got.ok() && *got == *want[which];
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_TRUE(same[0]);
  EXPECT_TRUE(same[1]);
}

TEST_P(RunRealModel, ThreadsDoNotChangeTheNumbers) {
  ASSERT_OK_AND_ASSIGN(const TensorMap stored, StoredInputs(GetParam().name, 0));
  const TensorMap feeds = {{stored.begin()->first, Crop(stored.begin()->second, 1, 160)}};
  ASSERT_OK_AND_ASSIGN(const Session one, Session::Load(model_.path, {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(const Session two, Session::Load(model_.path, {.threads = 2}));
  Steps a, b;
  ASSERT_OK(one.Run(feeds, a).status());
  ASSERT_OK(two.Run(feeds, b).status());
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) ASSERT_TRUE(a.steps[i] == b.steps[i]) << "first difference: " << a.steps[i].first;
}

TEST_P(RunRealModel, NoCastReadsAWeight) {
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(model_.path));
  int casts = 0;
  const auto check = [&casts](const Program& program) {
    ForEachOp(program, [&](const Op& op) {
      if (op.type() != "cast") return;
      ++casts;
      EXPECT_EQ(op.inputs()[0]->weight, nullptr) << Describe(op);
      EXPECT_EQ(op.inputs()[0]->literal, nullptr) << Describe(op);
    });
  };
  check(session.program());
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(model_.path));
  check(program);
  EXPECT_TRUE(casts > 0 || GetParam().dtype == DType::kF32);
}

class ConvertedRealModel : public RealModelTest {
 protected:
  std::string original() const { return OriginalPath(GetParam().name); }
  absl::Status Convert(const std::string& from, const std::string& to, const std::string& level = "O2") const {
    return ConvertTo(GetParam().dtype == DType::kF32 ? DType::kF16 : GetParam().dtype, from, to, nullptr, level);
  }
};
INSTANTIATE_TEST_SUITE_P(Models, ConvertedRealModel, ::testing::ValuesIn(kConverted), CaseName);

std::string Params(const std::string& model) { return std::filesystem::path(model).replace_extension(".pdiparams").string(); }

TEST_P(ConvertedRealModel, MostOfTheWorkIsLow) {
  EXPECT_GE(model_.converted.after.low_flops_share(), 0.9);
  EXPECT_EQ(model_.converted.before.low_ops, 0);
  EXPECT_LT(model_.converted.bytes_after, model_.converted.bytes_before);
  EXPECT_LT(ReadFile(Params(model_.path)).size() * 100, ReadFile(Params(original())).size() * 55);
}

TEST_P(ConvertedRealModel, SignatureKeepsItsTypes) {
  ASSERT_OK_AND_ASSIGN(const Session before, Session::Load(original()));
  ASSERT_OK_AND_ASSIGN(const Session after, Session::Load(model_.path));
  EXPECT_EQ(SignatureText(after.inputs()), SignatureText(before.inputs()));
  EXPECT_EQ(SignatureText(after.outputs()), SignatureText(before.outputs()));
  EXPECT_EQ(after.inputs()[0].type.dtype, DType::kF32);
}

TEST_P(ConvertedRealModel, ConvertingTwiceChangesNothing) {
  const TempFolder folder;
  ASSERT_OK(Convert(model_.path, folder / "twice.pdmodel"));
  EXPECT_TRUE(ReadFile(folder / "twice.pdmodel") == ReadFile(model_.path));
  EXPECT_TRUE(ReadFile(folder / "twice.pdiparams") == ReadFile(Params(model_.path)));
}

TEST_P(ConvertedRealModel, StripRestoresTheOriginal) {
  const TempFolder folder;
  Outcome strip = RunProcess("tools/ampc", {"strip", model_.path, "-o", "back.pdmodel", "--no-sync"}, folder.path());
  EXPECT_EQ(strip.code, 0) << strip.err;
  EXPECT_TRUE(ReadFile(folder / "back.pdmodel") == ReadFile(original()));
  EXPECT_EQ(ReadFile(folder / "back.pdiparams").size(), ReadFile(Params(original())).size());
  EXPECT_FALSE(ReadFile(folder / "back.pdiparams") == ReadFile(Params(original())));

  strip = RunProcess("tools/ampc", {"strip", model_.path, "-o", "back.pdmodel", "--no-sync", "--weights", original()}, folder.path());
  EXPECT_EQ(strip.code, 0) << strip.err;
  EXPECT_TRUE(ReadFile(folder / "back.pdmodel") == ReadFile(original()));
  EXPECT_TRUE(ReadFile(folder / "back.pdiparams") == ReadFile(Params(original())));
}

class OriginalRealModel : public ConvertedRealModel {};
INSTANTIATE_TEST_SUITE_P(Models, OriginalRealModel, ::testing::ValuesIn(kOriginals), CaseName);

TEST_P(OriginalRealModel, O0CopiesBothFiles) {
  const TempFolder folder;
  ASSERT_OK(Convert(original(), folder / "copy.pdmodel", "O0"));
  EXPECT_TRUE(ReadFile(folder / "copy.pdmodel") == ReadFile(original()));
  EXPECT_TRUE(ReadFile(folder / "copy.pdiparams") == ReadFile(Params(original())));
}

}  // namespace
}  // namespace ampc::testing
