// The C++ lines of tools/docs are lines of this file and of the example of training, and they work (train_test.cc runs the example).
#include "runtime/session.h"

#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "graph/formats/format.h"
#include "graph/text/parser.h"
#include "runtime/convert/convert.h"
#include "tests/e2e/models.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StripAsciiWhitespace(line).empty()) lines.emplace_back(absl::StripAsciiWhitespace(line));
  }
  return lines;
}

// The blocks between ```cpp and ```.
std::string CppBlocks(const std::string& markdown) {
  std::string code;
  for (size_t at = 0; (at = markdown.find("```cpp\n", at)) != std::string::npos;) {
    const size_t end = markdown.find("\n```", at += 7);
    code += markdown.substr(at, end - at) + "\n";
  }
  return code;
}

TEST(Readme, PrintedLinesAreCompiled) {
  const std::vector<std::string> printed = Lines(CppBlocks(ReadFile("tools/docs/programs.md") + ReadFile("tools/docs/training.md")));
  const std::vector<std::string> compiled =
      Lines(ReadFile("tests/e2e/readme_test.cc") + ReadFile("tools/examples/train_mixed_precision.cc"));
  ASSERT_GE(printed.size(), 3u);
  size_t next = 0;
  for (const std::string& line : compiled) next += next < printed.size() && line == printed[next] ? 1 : 0;
  EXPECT_EQ(next, printed.size()) << "not compiled, or in another order: " << printed[next];
}

TEST(Readme, PrintedLinesRun) {
  const TempFolder folder;
  std::string text = kConvNet;
  text.replace(text.find("image"), 5, "x");
  text.replace(text.find("Input=image"), 11, "Input=x");
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(text));
  ASSERT_OK(SaveModel(program, folder / "rec_fp16.pdmodel"));
  ASSERT_OK_AND_ASSIGN(const HostTensor image, HostTensor::Create(DType::kF32, {1, 1, 4, 4}));
  std::filesystem::copy_file("tests/golden/onnx/small.onnx", folder / "model.onnx");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());

  absl::StatusOr<ampc::Session> s = ampc::Session::Load("rec_fp16.pdmodel", {.device = "cpu", .threads = 2});
  std::filesystem::current_path(before);
  ASSERT_OK(s);
  absl::StatusOr<ampc::TensorMap> out = s->Run({{"x", image}});

  ASSERT_OK(out);
  EXPECT_EQ(out->at("y").num_elements(), 8);

  std::filesystem::current_path(folder.path());
  absl::StatusOr<ampc::ConvertResult> r = ampc::Convert({.model = "model.onnx", .output = "model_fp16.onnx", .dtype = ampc::DType::kF16});
  EXPECT_TRUE(std::filesystem::exists("model_fp16.onnx"));
  std::filesystem::current_path(before);
  ASSERT_OK(r);
  EXPECT_GT(r->after.low_ops, 0);
}

}  // namespace
}  // namespace ampc::testing
