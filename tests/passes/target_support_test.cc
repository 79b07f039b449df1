// The table of targets against the records.
#include "passes/analysis/target_support.h"

#include <set>
#include <string>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "graph/op_registry.h"
#include "gtest/gtest.h"
#include "passes/analysis/runtimes.h"

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

TEST(Runtimes, ListTypesOnce) {
  for (const Runtime& runtime : AllRuntimes()) {
    for (const absl::string_view types : {runtime.f16.types, runtime.bf16.types}) {
      std::set<std::string> seen;
      for (const absl::string_view entry : absl::StrSplit(types, ' ')) {
        EXPECT_TRUE(seen.emplace(entry.substr(0, entry.find(':'))).second) << runtime.name << " " << entry;
      }
    }
    EXPECT_FALSE(runtime.source.empty()) << runtime.name;
    EXPECT_TRUE(runtime.target.empty() || TargetSupport(runtime.target).ok()) << runtime.name;
  }
}

TEST(Runtimes, HaveKernelsByVersion) {
  const absl::StatusOr<const PrecisionSupport*> ort = TargetSupport("cpu", "ort-cpu");
  ASSERT_TRUE(ort.ok());
  EXPECT_TRUE((*ort)->Supports("onnx.Transpose.13", DType::kBF16));
  EXPECT_TRUE((*ort)->Supports("onnx.Pad.21", DType::kBF16));
  EXPECT_FALSE((*ort)->Supports("onnx.Pad.19", DType::kBF16));
  EXPECT_EQ((*ort)->WhyNot("onnx.Pad.19", DType::kBF16), "ONNX Runtime's CPU provider has no bf16 kernel of Pad-19");
  EXPECT_FALSE((*ort)->Supports("onnx.Conv.22", DType::kBF16));
  EXPECT_TRUE((*ort)->Supports("onnx.Conv.11", DType::kF16)) << "it casts itself";
  EXPECT_TRUE((*ort)->Supports("onnx.Conv.22", DType::kF32));
  EXPECT_FALSE((*ort)->Supports("onnx.Attention.23", DType::kF16));
  EXPECT_THAT((*ort)->WhyNot("onnx.Attention.23", DType::kF16), testing::HasSubstr("gives other products"));
  EXPECT_FALSE((*TargetSupport("cuda", "tensorrt"))->Supports("onnx.Mish.22", DType::kBF16));
  EXPECT_TRUE((*TargetSupport("cuda", "tensorrt"))->Supports("onnx.Mish.22", DType::kF16));
  const absl::StatusOr<const PrecisionSupport*> cuda = TargetSupport("cuda", "ort-cuda");
  ASSERT_TRUE(cuda.ok());
  EXPECT_TRUE((*cuda)->Supports("onnx.Conv.11", DType::kF16));
  EXPECT_FALSE((*cuda)->Supports("onnx.Conv.11", DType::kBF16));
  EXPECT_TRUE((*cuda)->Supports("onnx.Conv.22", DType::kBF16));
  EXPECT_EQ((*cuda)->WhyNot("onnx.GridSample.16", DType::kF16), "ONNX Runtime's CUDA provider has no f16 kernel of GridSample-16");
  EXPECT_THAT(std::string(TargetSupport("cpu", "ort").status().message()), testing::HasSubstr("runtime 'ort' is unknown"));
}

}  // namespace
}  // namespace ampc
