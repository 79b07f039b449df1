#include "tools/train/request.h"

#include <gtest/gtest.h>

#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ParseClip, KnowsThreeForms) {
  ASSERT_OK_AND_ASSIGN(const GradientClip none, ParseClip(""));
  EXPECT_EQ(none.kind, GradientClip::Kind::kNone);
  ASSERT_OK_AND_ASSIGN(const GradientClip value, ParseClip("value:-0.5,2"));
  EXPECT_EQ(value.kind, GradientClip::Kind::kValue);
  EXPECT_EQ(value.low, -0.5);
  EXPECT_EQ(value.high, 2);
  ASSERT_OK_AND_ASSIGN(const GradientClip norm, ParseClip("norm:3"));
  EXPECT_EQ(norm.kind, GradientClip::Kind::kNorm);
  EXPECT_EQ(norm.high, 3);
  ASSERT_OK_AND_ASSIGN(const GradientClip global, ParseClip("global-norm:1e2"));
  EXPECT_EQ(global.kind, GradientClip::Kind::kGlobalNorm);
  EXPECT_EQ(global.high, 100);
  for (const char* bad : {"norm", "norm:", "norm:0", "norm:nan", "norm:1,2", "value:1", "value:2,1", "global:1", ":1"}) {
    EXPECT_THAT(ParseClip(bad), StatusIs(ExitCode::kUsage, HasSubstr("needed value:LOW,HIGH"))) << bad;
  }
}

TEST(MakeOptimizer, TakesTheNetworksOrTheNamed) {
  ASSERT_OK_AND_ASSIGN(const NetworkInfo* network, FindNetwork("guarded"));
  TrainRequest request;
  ASSERT_OK_AND_ASSIGN(const Optimizer own, MakeOptimizer(request, *network));
  EXPECT_EQ(own.type(), "momentum");
  EXPECT_FALSE(own.multi_precision());
  request.optimizer = "AdamW";
  request.level = "O2";
  ASSERT_OK_AND_ASSIGN(const Optimizer named, MakeOptimizer(request, *network));
  EXPECT_EQ(named.type(), "adamw");
  EXPECT_TRUE(named.multi_precision());
  request.momentum = 0.5;
  EXPECT_THAT(MakeOptimizer(request, *network), StatusIs(ExitCode::kUsage, HasSubstr("--momentum: found optimizer 'adamw'")));
  request.momentum.reset();
  request.optimizer = "sdg";
  EXPECT_THAT(MakeOptimizer(request, *network), StatusIs(ExitCode::kUsage, AllOf(HasSubstr("sdg"), HasSubstr("sgd"), HasSubstr("lamb"))));
  request.optimizer = "sgd";
  request.schedule = "cosine";
  EXPECT_THAT(MakeOptimizer(request, *network), StatusIs(ExitCode::kUsage, HasSubstr("cosine")));
}

}  // namespace
}  // namespace ampc
