// The table of targets against the records.
#include "passes/analysis/target_support.h"

#include "graph/op_registry.h"
#include "gtest/gtest.h"

namespace ampc {
namespace {

TEST(TargetSupport, CoversEveryOpThatMayBecomeLow) {
  for (const char* target : {"cuda", "cpu"}) {
    const absl::StatusOr<const PrecisionSupport*> support = TargetSupport(target);
    ASSERT_TRUE(support.ok());
    EXPECT_EQ((*support)->target(), target);
    for (const OpDef* def : Ops().All()) {
      if (def->amp == AmpClass::kNever) continue;
      EXPECT_TRUE((*support)->Supports(def->name, DType::kF16)) << target << " " << def->name;
      EXPECT_TRUE((*support)->Supports(def->name, DType::kBF16)) << target << " " << def->name;
    }
  }
}

TEST(TargetSupport, FindsADialectByItsAlias) {
  const absl::StatusOr<const PrecisionSupport*> support = TargetSupport("cuda");
  ASSERT_TRUE(support.ok());
  EXPECT_TRUE((*support)->Supports("onnx.Conv", DType::kF16));
  EXPECT_FALSE((*support)->Supports("onnx.NoSuchOp", DType::kF16));
  EXPECT_FALSE((*support)->Supports("no_such_op", DType::kF16));
  EXPECT_TRUE((*support)->Supports("no_such_op", DType::kF32));
}

TEST(TargetSupport, KnowsTwoTargets) { EXPECT_EQ(TargetSupport("tpu").status().message(), "target 'tpu' is unknown, it is cuda or cpu"); }

}  // namespace
}  // namespace ampc
