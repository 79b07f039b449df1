// A few of the models with extreme values through the command line.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/formats/tensor_io/npz.h"
#include "tests/e2e/process.h"
#include "tests/extreme/sweep.h"

namespace ampc::extreme {
namespace {

TEST(CommandLine, EndsPolitely) {
  const std::string folder = std::filesystem::path(::testing::TempDir()) / "extreme";
  std::filesystem::create_directories(folder);
  const SweepOptions options;
  for (int64_t index = 20'000; index < 20'012; ++index) {
    const OddModel model = ModelOf(options, 97 * index);
    const std::string name = absl::StrCat("odd", ExtensionOf(model));
    std::ofstream(absl::StrCat(folder, "/", name), std::ios::binary) << FileOf(model);
    ASSERT_TRUE(WriteNpz(folder + "/in.npz", FeedsOf(model)).ok());
    for (const std::vector<std::string>& args :
         std::vector<std::vector<std::string>>{{"inspect", name},
                                               {"convert", name, "-o", "low_" + name, "--no-sync"},
                                               {"run", name, "--input", "in.npz", "--threads", "1"}}) {
      const ampc::testing::Outcome outcome = ampc::testing::RunProcess("tools/ampc", args, folder);
      EXPECT_LE(outcome.code, 4) << Describe(model) << "\n" << args[0] << ": " << outcome.err;
      EXPECT_TRUE(outcome.code == 0 ||
                  (absl::StartsWith(outcome.err, "ampc ") && std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1))
          << Describe(model) << "\n"
          << outcome.err;
    }
  }
}

}  // namespace
}  // namespace ampc::extreme
