// Every model of the ONNX standard's backend tests that can be read is written back byte for byte: testdata_test --data=DIR.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/strip.h"
#include "graph/formats/format.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

std::string& Folder() {
  static auto& folder = *new std::string;
  return folder;
}

TEST(OnnxTestdata, RoundTrip) {
  namespace fs = std::filesystem;
  if (!fs::exists(Folder())) GTEST_SKIP() << "the package libonnx-testdata is not installed";
  const testing::TempFolder out;
  int same = 0, all = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(Folder())) {
    if (entry.path().extension() != ".onnx") continue;
    ++all;
    const absl::StatusOr<Program> program = LoadModel(entry.path().string());
    if (!program.ok()) {
      // Operator sets before 7 are not supported.
      EXPECT_EQ(ExitCodeOf(program.status()), ExitCode::kUnsupported) << program.status();
      continue;
    }
    ASSERT_OK(SaveModel(*program, out / "m.onnx", {.no_sync = true}));
    EXPECT_TRUE(testing::ReadFile(out / "m.onnx") == testing::ReadFile(entry.path().string())) << entry.path();
    ++same;
  }
  EXPECT_GE(same, all * 4 / 5);
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--data=")) ampc::Folder() = std::string(arg);
  }
  return RUN_ALL_TESTS();
}
