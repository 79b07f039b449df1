// Random programs and options: what holds of every conversion. AMPC_METAMORPHIC_COUNT says how many instead of a sample.
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/metamorphic/properties.h"

namespace ampc::metamorphic {
namespace {

TEST(Metamorphic, WhatHoldsOfEveryConversion) {
  const char* count = std::getenv("AMPC_METAMORPHIC_COUNT");
  const int programs = count != nullptr ? std::atoi(count) : 150;
  int refused = 0, bounded = 0, with_error = 0, rescaled = 0;
  for (int seed = 0; seed < programs; ++seed) {
    const CheckResult result = CheckProperties(seed, ::testing::TempDir());
    EXPECT_TRUE(result.status.ok()) << "seed " << seed << ": " << result.status.message() << "\n"
                                    << result.options << "\n"
                                    << result.program;
    refused += result.refused ? 1 : 0;
    bounded += result.bounded;
    with_error += result.with_error;
    rescaled += result.rescaled;
  }
  EXPECT_LT(refused, programs / 4) << "options that contradict each other check nothing";
  EXPECT_GT(bounded, 20 * programs);
  EXPECT_GT(with_error, 3 * programs);
  EXPECT_GT(rescaled, programs / 10);
}

// Each property sees the fault that it is about.
TEST(Metamorphic, FaultsAreFound) {
  const std::map<Fault, std::string> faults = {{Fault::kLosesACast, ""},
                                               {Fault::kWritesOtherBytes, "the same command gives other bytes"},
                                               {Fault::kStripsToOther, "strip does not give the original back"},
                                               {Fault::kBoundsTooTight, "a value is beyond its proven bounds"},
                                               {Fault::kErrorsTooTight, "a value is further from fp32 than was proven"},
                                               {Fault::kOtherPlan, "its own plan gives other bytes"},
                                               {Fault::kOtherThreads, "the result depends on the number of threads"},
                                               {Fault::kSlower, "level auto is predicted to be slower than O2"},
                                               {Fault::kRescalesOneSide, "rescaled weights change the result"}};
  for (const auto& [fault, sentence] : faults) {
    int found = 0;
    std::string last;
    for (int seed = 0; seed < 20 && found == 0; ++seed) {
      const CheckResult result = CheckProperties(seed, ::testing::TempDir(), fault);
      last = absl::StrCat(result.status.message(), result.refused ? " refused" : "");
      found += !result.status.ok() && result.status.message().find(sentence) != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(found, 1) << sentence << "\n" << last;
  }
}

}  // namespace
}  // namespace ampc::metamorphic
