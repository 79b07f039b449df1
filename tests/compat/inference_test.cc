// `ampc convert --compat paddle-inference-2.6` against what that release's converter made of two real models.
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/formats/tensor_io/zip_reader.h"
#include "gtest/gtest.h"
#include "tests/compat/compare.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

constexpr char kData[] = "tests/golden/paddle_inference/";

struct InferenceCase {
  std::string name, input, options;
};

std::vector<InferenceCase> ReadCases() {
  std::vector<InferenceCase> out;
  std::ifstream file(absl::StrCat(kData, "cases.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> f = absl::StrSplit(line, '\t');
    out.push_back({f.at(0), f.at(1), f.at(2)});
  }
  return out;
}

// `name`.pdmodel of the archive; "" when it is not there.
std::string Program(const std::string& name) {
  const std::string path = absl::StrCat(kData, "programs.zip");
  const std::string archive = ReadFile(path);
  const absl::StatusOr<std::vector<ZipMember>> members = ReadZipDirectory(archive, path);
  if (!members.ok()) return "";
  for (const ZipMember& member : *members) {
    if (member.name != absl::StrCat(name, ".pdmodel")) continue;
    std::string buffer;
    const absl::StatusOr<absl::string_view> bytes = ReadZipMember(archive, path, member, &buffer);
    return bytes.ok() ? std::string(*bytes) : "";
  }
  return "";
}

int CountVars(const paddle::ProgramDesc& program, absl::string_view of, int type) {
  int count = 0;
  for (const paddle::OpDesc& op : program.blocks(0).ops()) {
    if (op.type() != of) continue;
    for (const auto& slot : op.inputs()) {
      if (slot.parameter() != "Scale" && slot.parameter() != "Bias") continue;
      for (const paddle::VarDesc& var : program.blocks(0).vars()) {
        if (var.name() == slot.arguments(0) && var.type().lod_tensor().tensor().data_type() == type) ++count;
      }
    }
  }
  return count;
}

void PrintTo(const InferenceCase& c, std::ostream* out) { *out << c.name << " " << c.options; }

class PaddleInferenceTest : public ::testing::Test {
 protected:
  paddle::ProgramDesc Convert(const std::string& input, const std::string& options) const {
    WriteFile(folder_ / "in.pdmodel", Program(input));
    std::vector<std::string> args = {"convert", "in.pdmodel", "-o", "out.pdmodel", "--program-only", "--no-sync"};
    for (const std::string& arg : std::vector<std::string>(absl::StrSplit(options, ' '))) args.push_back(arg);
    const Outcome outcome = RunProcess("tools/ampc", args, folder_.path());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const absl::StatusOr<paddle::ProgramDesc> out = ReadPaddleProgram(folder_ / "out.pdmodel");
    EXPECT_TRUE(out.ok()) << out.status().message();
    return out.value_or(paddle::ProgramDesc());
  }

  TempFolder folder_;
};

class PaddleInference : public PaddleInferenceTest, public ::testing::WithParamInterface<InferenceCase> {};

TEST_P(PaddleInference, IsReproduced) {
  const paddle::ProgramDesc ours = Convert(GetParam().input, absl::StrCat("--compat paddle-inference-2.6 ", GetParam().options));
  paddle::ProgramDesc theirs;
  ASSERT_TRUE(theirs.ParseFromString(Program(GetParam().name)) && theirs.blocks_size() > 0);
  EXPECT_EQ(CompareRewrites(ours, theirs, {}), "");
}

INSTANTIATE_TEST_SUITE_P(Golden, PaddleInference, ::testing::ValuesIn(ReadCases()),
                         [](const ::testing::TestParamInfo<InferenceCase>& info) { return info.param.name; });

TEST(PaddleInferenceData, IsThere) { EXPECT_EQ(ReadCases().size(), 8u); }

// That converter narrows scale and bias of layer normalisations, ampc's own mode does not.
TEST_F(PaddleInferenceTest, LeavesLayerNormUnprotected) {
  constexpr int kF16 = 4, kF32 = 5;
  const std::string model = "ch_PP-OCRv4_rec_infer.input";
  const paddle::ProgramDesc theirs = Convert(model, "--compat paddle-inference-2.6");
  const paddle::ProgramDesc ours = Convert(model, "--level O2");
  EXPECT_EQ(CountVars(theirs, "layer_norm", kF16), 10);
  EXPECT_EQ(CountVars(theirs, "layer_norm", kF32), 0);
  EXPECT_EQ(CountVars(ours, "layer_norm", kF16), 0);
  EXPECT_EQ(CountVars(ours, "layer_norm", kF32), 10);
}

}  // namespace
}  // namespace ampc::testing
