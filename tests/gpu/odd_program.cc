// A test program that goes wrong as AMPC_ODD says: crash, hang, fail, or kernel, which is one that nothing runs. For rehearsal_test.sh.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace {

bool Wanted(const char* what) {
  const char* odd = std::getenv("AMPC_ODD");
  return odd != nullptr && std::string(odd) == what;
}

TEST(Odd, Passes) {}

TEST(Odd, HasAKernel) {
  if (Wanted("kernel")) std::ofstream(std::getenv("AMPC_KERNELS_RAN"), std::ios::app) << "has odd f16\n";
}

TEST(Odd, Crashes) {
  if (Wanted("crash")) std::abort();
}

TEST(Odd, Hangs) {
  while (Wanted("hang")) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

// As what comes behind an illegal access: fails beside others.
TEST(Odd, FailsBesideOthers) { EXPECT_TRUE(!Wanted("fail") || ::testing::GTEST_FLAG(filter) == "Odd.FailsBesideOthers"); }

TEST(Odd, Fails) { EXPECT_FALSE(Wanted("fail")); }

TEST(Odd, PassesAgain) {}

}  // namespace
