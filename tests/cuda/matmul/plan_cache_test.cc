// A plan is searched once per product, and never taken for another product.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "graph/base/error.h"
#include "kernels/device/matmul_library.h"
#include "kernels/device/matmul_plan_cache.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

class FakePlan : public MatmulPlan {
 public:
  int64_t workspace_bytes() const override { return 0; }
  absl::Status Run(Stream&, const MatmulArgs&) const override { return absl::OkStatus(); }
  std::string implementation() const override { return "fake"; }
};

class PlanCacheTest : public ::testing::Test {
 protected:
  MatmulPlanCache::Plan Find(const MatmulDesc& desc, int64_t limit = 0) {
    const absl::StatusOr<MatmulPlanCache::Plan> plan = cache_.Find(desc, limit, [this]() -> absl::StatusOr<MatmulPlanCache::Plan> {
      ++searches_;
      return std::make_shared<const FakePlan>();
    });
    EXPECT_OK(plan);
    return *plan;
  }
  MatmulPlanCache cache_{64};
  int searches_ = 0;
};

TEST_F(PlanCacheTest, SearchesOncePerProduct) {
  const MatmulDesc desc{.m = 2, .n = 3, .k = 4};
  const MatmulPlanCache::Plan plan = Find(desc);
  EXPECT_EQ(Find(desc), plan);
  EXPECT_EQ(searches_, 1);
  EXPECT_NE(Find(desc, 1024), plan);  // with another workspace another algorithm may be the best
}

TEST_F(PlanCacheTest, EveryFieldMakesAnotherProduct) {
  const MatmulDesc desc{.m = 2, .n = 3, .k = 4};
  Find(desc);
  int others = 0;
  const auto differs = [&](auto change) {
    MatmulDesc other = desc;
    change(other);
    Find(other);
    EXPECT_EQ(searches_, 1 + ++others);
  };
  differs([](MatmulDesc& d) { d.transpose_a = true; });
  differs([](MatmulDesc& d) { d.transpose_b = true; });
  differs([](MatmulDesc& d) { d.m = 7; });
  differs([](MatmulDesc& d) { d.n = 7; });
  differs([](MatmulDesc& d) { d.k = 7; });
  differs([](MatmulDesc& d) { d.lda = 7; });
  differs([](MatmulDesc& d) { d.ldb = 7; });
  differs([](MatmulDesc& d) { d.ldd = 7; });
  differs([](MatmulDesc& d) { d.batch = 7; });
  differs([](MatmulDesc& d) { d.stride_a = 7; });
  differs([](MatmulDesc& d) { d.stride_b = 7; });
  differs([](MatmulDesc& d) { d.stride_d = 7; });
  differs([](MatmulDesc& d) { d.type_ab = DType::kF16; });
  differs([](MatmulDesc& d) { d.type_d = DType::kF16; });
  differs([](MatmulDesc& d) { d.tf32 = true; });
  differs([](MatmulDesc& d) { d.alpha = 2; });
  differs([](MatmulDesc& d) { d.beta = 2; });
  differs([](MatmulDesc& d) { d.epilogue = MatmulEpilogue::kBias; });
  differs([](MatmulDesc& d) { d.aux_ld = 128; });
  differs([](MatmulDesc& d) { d.alignment = 8; });
  Find(desc);
  EXPECT_EQ(searches_, 1 + others);
}

TEST_F(PlanCacheTest, AFailureIsNotKept) {
  const MatmulDesc desc{.m = 1, .n = 1, .k = 1};
  EXPECT_FALSE(cache_.Find(desc, 0, []() -> absl::StatusOr<MatmulPlanCache::Plan> { return UnsupportedError("none"); }).ok());
  Find(desc);
  EXPECT_EQ(searches_, 1);
}

TEST_F(PlanCacheTest, IsBounded) {
  const MatmulPlanCache::Plan first = Find({.m = 1});
  for (int64_t m = 2; m <= 65; ++m) Find({.m = m});
  EXPECT_NE(Find({.m = 1}), first);
  EXPECT_EQ(searches_, 66);
  EXPECT_EQ(first->implementation(), "fake");  // still in use here
}

}  // namespace
}  // namespace ampc
