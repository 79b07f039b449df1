// A sample of the models with extreme values. A model that fails is printed with the command that writes it to a folder.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/match.h"
#include "tests/extreme/sweep.h"

namespace ampc::extreme {
namespace {

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
constexpr bool kSanitized = true;  // ten times as slow, and needs addresses without end
#else
constexpr bool kSanitized = false;
#endif

// AMPC_EXTREME_COUNT, or that many.
int64_t CountOf(int64_t usual) {
  const char* count = std::getenv("AMPC_EXTREME_COUNT");
  return count == nullptr ? usual : std::atoll(count);
}

SweepOptions Options(int64_t count) {
  SweepOptions options;
  options.count = count;
  if (kSanitized) {
    options.memory_bytes = 0;
    options.step = 11;
  }  // from among as many as the plain build tries
  return options;
}

// Exit code 0 to 4, one sentence, no signal, within 2 GB and 10 s.
TEST(Extreme, ModelsEndPolitely) {
  const SweepOptions options = Options(CountOf(kSanitized ? 600 : 7000));
  const SweepResult result = Sweep(options);
  EXPECT_EQ(result.tried, options.count);
  EXPECT_GT(result.ran, result.tried / 4);
  EXPECT_GT(result.refused, result.tried / 8);
  const std::vector<std::string> known = ReadList("tests/extreme/known.txt");
  for (const Failure& failure : result.failures) {
    EXPECT_TRUE(IsKnown(failure, known)) << failure.model << "\n"
                                         << failure.stage << ": " << failure.what << "\n  bazel run //tests/extreme:sweep_main -- --write "
                                         << failure.index << " FOLDER";
  }
}

// The models that changes are made to run unchanged, or are listed with the reason: a new operator whose operands the names of its slots do
// not say gets a line in recipes.inc.
void ExpectToRunUnchanged(const std::string& domain) {
  SweepOptions options = Options(0);
  options.only = domain;
  options.changes = 0;
  std::vector<const OpDef*> ops = TriedOps();
  std::erase_if(ops, [&](const OpDef* def) { return !absl::StartsWith(def->name, domain); });
  ASSERT_FALSE(ops.empty());
  options.count = 6 * static_cast<int64_t>(ops.size());
  const SweepResult result = Sweep(options);
  std::set<std::string> ran(result.ops_that_ran.begin(), result.ops_that_ran.end()), listed;
  for (const std::string& line : ReadList("tests/extreme/not_run.txt")) listed.insert(line);
  for (const OpDef* def : ops) EXPECT_NE(ran.contains(def->name), listed.contains(def->name)) << def->name;
}

TEST(Extreme, EveryOnnxOperatorRunsUnchanged) {
  if (kSanitized) GTEST_SKIP() << "the plain build does this";
  ExpectToRunUnchanged("onnx.");
}

TEST(Extreme, EveryOperatorOfOnnxRuntimeRunsUnchanged) {
  if (kSanitized) GTEST_SKIP() << "the plain build does this";
  ExpectToRunUnchanged("com.microsoft.");
}

}  // namespace
}  // namespace ampc::extreme
