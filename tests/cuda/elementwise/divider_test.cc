// Quotients by multiplication are those of a division.
#include "kernels/cuda/launch/divider.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace ampc::cuda {
namespace {

TEST(Divider, DividesAsDivisionDoes) {
  std::vector<int64_t> numbers;
  for (int64_t p = 1; p <= int64_t{1} << 30; p *= 2) {
    for (const int64_t n : {p - 1, p, p + 1, 3 * (p / 2)}) numbers.push_back(n);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) numbers.push_back(static_cast<int64_t>(random() >> (random() % 31 + 1)));
  numbers.push_back((int64_t{1} << 31) - 1);
  for (const int64_t divisor : numbers) {
    if (divisor < 1) continue;
    const Divider narrow(divisor);
    EXPECT_EQ(narrow.divisor(), divisor);
    for (const int64_t n : numbers) ASSERT_EQ(narrow.Quotient(n), n / divisor) << n << " / " << divisor;
  }
}

TEST(Divider, TakesLargeNumbers) {
  const int64_t bound = int64_t{1} << 40;
  for (const int64_t divisor : {int64_t{1}, int64_t{3}, int64_t{1} << 20, (int64_t{1} << 32) + 7}) {
    const Divider wide(divisor);
    for (const int64_t n : {int64_t{0}, divisor - 1, divisor, (int64_t{1} << 31) + 5, bound - 1}) EXPECT_EQ(wide.Quotient(n), n / divisor);
  }
}

}  // namespace
}  // namespace ampc::cuda
