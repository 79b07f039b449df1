// The vector loops on every instruction set that this CPU has: reductions give the same bits on all of them, binary loops exact results.
#include "kernels/cpu/simd/targets.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/integer_rows.h"
#include "kernels/cpu/simd/reduce.h"

namespace ampc::simd {
namespace {

std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) targets.push_back(rest & -rest);
  return targets;
}

class Simd : public ::testing::Test {
 protected:
  void TearDown() override { hwy::GetChosenTarget().DeInit(); }
  static void Use(int64_t target) { hwy::GetChosenTarget().Update(target); }
  static bool SameBits(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0 || (std::isnan(a) && std::isnan(b)); }
};

std::vector<float> Values(int64_t n) {
  std::vector<float> v(n);
  uint32_t bits = 12345;
  for (float& x : v) {
    bits = bits * 1664525u + 1013904223u;
    x = static_cast<float>(bits >> 8) / 8388608.0f - 1;
  }
  return v;
}

TEST_F(Simd, ReductionsGiveTheSameBitsEverywhere) {
  std::vector<float> x = Values(kReduceRun);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin}) {
    for (int64_t n : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 128, 200, 1000, 4095, 4096}) {
      Use(Targets().back());
      const float want = ReduceRun(op)(x.data(), n);
      for (const int64_t target : Targets()) {
        Use(target);
        EXPECT_TRUE(SameBits(ReduceRun(op)(x.data(), n), want)) << TargetName() << " " << n;
      }
    }
    for (int64_t columns : {1, 3, 16, 37, 64}) {
      float want[kReduceColumns], found[kReduceColumns];
      Use(Targets().back());
      ReduceColumns(op)(x.data(), 60, 65, columns, want);
      for (const int64_t target : Targets()) {
        Use(target);
        ReduceColumns(op)(x.data(), 60, 65, columns, found);
        for (int64_t c = 0; c < columns; ++c) EXPECT_TRUE(SameBits(found[c], want[c])) << TargetName() << " " << columns;
      }
    }
  }
}

TEST_F(Simd, OneNaNAnywhereWins) {
  for (const int64_t target : Targets()) {
    Use(target);
    for (int64_t n : {1, 5, 16, 63, 64, 77, 300}) {
      for (int64_t at = 0; at < n; ++at) {
        std::vector<float> x(n, -2);
        x[at] = std::numeric_limits<float>::quiet_NaN();
        EXPECT_TRUE(std::isnan(MaxRow(x.data(), n))) << TargetName() << " " << n << " " << at;
        EXPECT_TRUE(std::isnan(ReduceRun(ReduceOp::kMin)(x.data(), n)));
      }
    }
  }
}

TEST_F(Simd, BinaryLoopsAreExactAndStayInBounds) {
  const std::vector<float> x = Values(70), y = Values(71);
  for (const int64_t target : Targets()) {
    Use(target);
    for (size_t n = 0; n <= 69; ++n) {
      for (const Spread spread : {Spread::kNone, Spread::kX, Spread::kY}) {
        std::vector<float> out(n + 1, 7);
        Binary(BinaryOp::kMul, spread)(x.data(), y.data() + 1, out.data(), n);
        for (size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], (spread == Spread::kX ? x[0] : x[i]) * (spread == Spread::kY ? y[1] : y[i + 1]));
        EXPECT_EQ(out[n], 7);
      }
    }
  }
}

TEST_F(Simd, ProductsOfIntegersWrapAndStayInBounds) {
  const int64_t rows = 7, k = 5;
  std::vector<int32_t> a(rows * k), b(k * 75);
  uint32_t bits = 12345;
  for (std::vector<int32_t>* v : {&a, &b}) {
    for (int32_t& x : *v) x = static_cast<int32_t>(bits = bits * 1664525u + 1013904223u);
  }
  for (const int64_t target : Targets()) {
    Use(target);
    for (int64_t n = 1; n <= 75; ++n) {
      std::vector<int32_t> out(rows * n + 1, 42);
      MultiplyIntegers({a.data(), k, 1}, rows, b.data(), k, n, out.data());
      EXPECT_EQ(out.back(), 42) << TargetName() << " " << n;
      for (int64_t i = 0; i < rows * n; ++i) {
        uint32_t want = 0;
        for (int64_t j = 0; j < k; ++j) want += static_cast<uint32_t>(a[i / n * k + j]) * static_cast<uint32_t>(b[j * n + i % n]);
        ASSERT_EQ(out[i], static_cast<int32_t>(want)) << TargetName() << " " << n << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace ampc::simd
