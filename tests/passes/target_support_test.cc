// The table of targets against the records.
#include "passes/analysis/target_support.h"

#include <set>
#include <string>

#include "graph/op_registry.h"
#include "gtest/gtest.h"

namespace ampc {
namespace {

// Paddle's GPU build has no low kernel of these.
bool IsFp32OnCuda(const std::string& op) {
  static const auto* const kOps = new std::set<std::string>(
      {"affine_channel", "affine_grid", "box_coder", "depthwise_conv2d_transpose", "frobenius_norm", "grid_sampler", "matrix_nms",
       "multiclass_nms", "multiclass_nms2", "multiclass_nms3", "mv", "pad2d", "prior_box", "rnn", "roi_align", "roi_pool", "yolo_box"});
  return kOps->count(op) > 0;
}

TEST(TargetSupport, CoversEveryOpThatMayBecomeLow) {
  for (const char* target : {"cuda", "cpu"}) {
    const absl::StatusOr<const PrecisionSupport*> support = TargetSupport(target);
    ASSERT_TRUE(support.ok());
    EXPECT_EQ((*support)->target(), target);
    for (const OpDef* def : Ops().All()) {
      if (def->amp == AmpClass::kNever) continue;
      const bool low = std::string(target) == "cpu" || !IsFp32OnCuda(def->name);
      EXPECT_EQ((*support)->Supports(def->name, DType::kF16), low) << target << " " << def->name;
      EXPECT_EQ((*support)->Supports(def->name, DType::kBF16), low) << target << " " << def->name;
    }
  }
}

TEST(TargetSupport, FindsAnOpOfOnnxByWhatItMeans) {
  const absl::StatusOr<const PrecisionSupport*> support = TargetSupport("cuda");
  ASSERT_TRUE(support.ok());
  EXPECT_TRUE((*support)->Supports("onnx.If", DType::kF32));
  EXPECT_FALSE((*support)->Supports("onnx.NoSuchOp", DType::kF16));
  EXPECT_FALSE((*support)->Supports("no_such_op", DType::kF16));
  EXPECT_TRUE((*support)->Supports("no_such_op", DType::kF32));
}

TEST(TargetSupport, KnowsGpusByTheirComputeCapability) {
  EXPECT_EQ(
      TargetSupport("tpu").status().message(),
      "target 'tpu' is unknown, it is one of cuda, cpu, cuda:7.0, cuda:7.5, cuda:8.0, cuda:8.6, cuda:8.9, cuda:9.0, cuda:10.0, cuda:12.0");
  for (const std::string& name : TargetNames()) {
    ASSERT_TRUE(TargetSupport(name).ok()) << name;
    EXPECT_EQ((*TargetSupport(name))->target(), name);
    EXPECT_EQ((*TargetSupport(name))->Supports("rnn", DType::kF16), name == "cpu") << name;
  }
}

}  // namespace
}  // namespace ampc
