// Models that Paddle 3 wrote, with its inputs and outputs: what is read computes what Paddle computes, and is written as it was.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/host_values.h"
#include "graph/formats/format.h"
#include "graph/formats/tensor_io/npz.h"
#include "graph/verify.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/convert/options.h"
#include "runtime/session.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::ReadFile;
using ::ampc::testing::TempFolder;

constexpr const char* kModels[] = {"attention",    "bigru",          "conv_transpose", "detector",    "dynamic", "embed_norm", "encoder",
                                   "group_norm",   "if_else",        "int_outputs",    "interpolate", "lenet",   "lstm",       "math",
                                   "mobile_block", "multiclass_nms", "ocr_rec",        "shapes",      "vision",  "while_loop"};
constexpr double kPaddleError = 1e-4;  // of the largest value

std::string Folder(const std::string& name) { return absl::StrCat("tests/golden/paddle3/", name); }
bool HasParams(const std::string& name) { return std::filesystem::exists(Folder(name) + "/inference.pdiparams"); }

std::vector<double> DoublesOf(const HostTensor& tensor) {
  if (const auto floats = FloatsOf(tensor)) return {floats->begin(), floats->end()};
  const auto integers = IntegersOf(tensor);
  return integers.has_value() ? std::vector<double>(integers->begin(), integers->end()) : std::vector<double>();
}

// The largest difference over the largest finite value; infinite where shapes, types or what is not finite differ.
double Difference(const HostTensor& found, const HostTensor& needed) {
  const double kNo = std::numeric_limits<double>::infinity();
  if (found.dtype() != needed.dtype() || found.dims() != needed.dims()) return kNo;
  const std::vector<double> a = DoublesOf(found), b = DoublesOf(needed);
  if (a.size() != static_cast<size_t>(needed.num_elements())) return kNo;
  double worst = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double difference = std::abs(a[i] - b[i]);
    if (!std::isfinite(difference)) return kNo;
    worst = std::max(worst, difference);
  }
  return worst == 0 ? 0 : worst / largest;
}

void ExpectOutputs(const Session& session, const std::string& inputs, const std::string& outputs, double error) {
  ASSERT_OK_AND_ASSIGN(auto feeds, ReadNpz(inputs));
  ASSERT_OK_AND_ASSIGN(const auto needed, ReadNpz(outputs));
  ASSERT_OK_AND_ASSIGN(const TensorMap found, session.Run(TensorMap(feeds.begin(), feeds.end())));
  const std::vector<ValueInfo> signature = session.outputs();
  ASSERT_EQ(signature.size(), needed.size());
  for (size_t i = 0; i < signature.size(); ++i) {
    const HostTensor& want = needed.at(absl::StrCat("out", i));
    EXPECT_LE(Difference(found.at(signature[i].name), want), error) << signature[i].name;
  }
}

class Golden : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Golden, ::testing::ValuesIn(kModels), [](const auto& info) { return std::string(info.param); });

TEST_P(Golden, ComputesWhatPaddleDoes) {
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(Folder(GetParam())));
  ASSERT_OK(Verify(program));
  ForEachOp(program, [](const Op& op) { EXPECT_FALSE(op.def().opaque) << Describe(op); });
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(std::move(program), {.threads = 1}));
  ExpectOutputs(session, Folder(GetParam()) + "/inputs.npz", Folder(GetParam()) + "/outputs.npz", kPaddleError);
}

TEST_P(Golden, IsWrittenAsItWasRead) {
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(Folder(GetParam())));
  ASSERT_OK(SaveModel(program, folder / "copy.json", {.no_sync = true}));
  ASSERT_OK(SaveModel(program, folder / "copy/", {.no_sync = true}));
  for (const char* file : {"copy.json", "copy/inference.json"})
    EXPECT_TRUE(ReadFile(folder / file) == ReadFile(Folder(GetParam()) + "/inference.json"));
  if (!HasParams(GetParam())) return;
  EXPECT_TRUE(ReadFile(folder / "copy.pdiparams") == ReadFile(Folder(GetParam()) + "/inference.pdiparams"));
}

absl::Status Lower(const ConvertOptions& options, Program& program) {
  PassContext ctx;
  absl::StatusOr<const PrecisionSupport*> support = TargetSupport("cuda");
  if (!support.ok()) return support.status();
  ctx.support = *support;
  return RunPipeline(ConvertPipeline(options), {}, ctx, program);
}

void ConvertAndBack(const std::string& name, const std::string& level, DType dtype) {
  SCOPED_TRACE(absl::StrCat(level, " ", Name(dtype)));
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(Folder(name)));
  ConvertOptions options;
  options.level = level;
  options.dtype = dtype;
  ASSERT_OK(Lower(options, program));
  ASSERT_OK(SaveModel(program, folder / "low.json", {.no_sync = true}));

  ASSERT_OK_AND_ASSIGN(Program low, LoadModel(folder / "low.json"));
  ASSERT_OK(Verify(low));
  ASSERT_OK(SaveModel(low, folder / "same.json", {.no_sync = true}));
  EXPECT_TRUE(ReadFile(folder / "same.json") == ReadFile(folder / "low.json"));
  ASSERT_OK_AND_ASSIGN(Program twice, LoadModel(folder / "low.json"));
  ASSERT_OK(Lower(options, twice));
  ASSERT_OK(SaveModel(twice, folder / "twice.json", {.no_sync = true}));
  EXPECT_TRUE(ReadFile(folder / "twice.json") == ReadFile(folder / "low.json"));

  PassContext ctx;
  ASSERT_OK(RunPipeline(StripPipeline(), {}, ctx, low));
  ASSERT_OK(SaveModel(low, folder / "stripped.json", {.no_sync = true, .program_only = true}));
  EXPECT_TRUE(ReadFile(folder / "stripped.json") == ReadFile(Folder(name) + "/inference.json"));
}

TEST_P(Golden, IsConvertedAndStripped) {
  for (const char* level : {"O1", "O2"}) {
    for (const DType dtype : {DType::kF16, DType::kBF16}) ConvertAndBack(GetParam(), level, dtype);
  }
}

// Paddle's own results in bf16, which rounds after every op.
TEST(Mixed, ComputesWhatPaddleDoes) {
  for (const auto& [name, inputs] : std::map<std::string, std::string>{
           {"bf16_encoder_O1", "encoder"}, {"bf16_encoder_folded", "encoder"}, {"bf16_lenet_folded", "lenet"}}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(Program program, LoadModel(Folder(name)));
    ASSERT_OK(Verify(program));
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(std::move(program), {.threads = 1, .strict_rounding = true}));
    ExpectOutputs(session, Folder(inputs) + "/inputs.npz", Folder(name) + "/outputs.npz", 0.02);
  }
}

}  // namespace
}  // namespace ampc
