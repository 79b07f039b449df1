// cuDNN's plans without a device: its heuristics and plans for a described H200 find an engine for the convolutions of ResNet-50 and of
// smaller networks, in every type, forward and backward, in both layouts, with the epilogues that kernels ask for. Skips where cuDNN is not
// found.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/device/cuda/cudnn_plan.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

// As cudaGetDeviceProperties has it.
constexpr char kH200[] = R"({"deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
"multiProcessorCount": 132, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "totalGlobalMem": 150000000000, "l2CacheSize": 62914560,
"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
"maxCtasPerSM": 32, "warpSize": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "maxSharedMemoryPerBlock": 49152,
"maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "isTccDriver": 0, "supportCoopLaunch": 1})";

constexpr int64_t kWorkspaceLimit = int64_t{1} << 30;

struct Shape {
  int64_t in_c, size, out_c, kernel, stride, before, after, groups;
};

constexpr Shape kResNet50[] = {
    {3, 224, 64, 7, 2, 3, 3, 1},   {64, 56, 64, 1, 1, 0, 0, 1},    {64, 56, 64, 3, 1, 1, 1, 1},    {64, 56, 256, 1, 1, 0, 0, 1},
    {256, 56, 64, 1, 1, 0, 0, 1},  {256, 56, 128, 1, 1, 0, 0, 1},  {128, 56, 128, 3, 2, 1, 1, 1},  {256, 56, 512, 1, 2, 0, 0, 1},
    {128, 28, 512, 1, 1, 0, 0, 1}, {512, 28, 128, 1, 1, 0, 0, 1},  {128, 28, 128, 3, 1, 1, 1, 1},  {512, 28, 256, 1, 1, 0, 0, 1},
    {256, 28, 256, 3, 2, 1, 1, 1}, {512, 28, 1024, 1, 2, 0, 0, 1}, {256, 14, 1024, 1, 1, 0, 0, 1}, {1024, 14, 256, 1, 1, 0, 0, 1},
    {256, 14, 256, 3, 1, 1, 1, 1}, {1024, 14, 512, 1, 1, 0, 0, 1}, {512, 14, 512, 3, 2, 1, 1, 1},  {1024, 14, 2048, 1, 2, 0, 0, 1},
    {512, 7, 2048, 1, 1, 0, 0, 1}, {2048, 7, 512, 1, 1, 0, 0, 1},  {512, 7, 512, 3, 1, 1, 1, 1},
};

// Channels that fill no vector, groups, padding on one side, as LeNet, PP-OCR and SAME padding have them.
constexpr Shape kOdd[] = {
    {1, 28, 6, 5, 1, 2, 2, 1},  {6, 14, 16, 5, 1, 0, 0, 1},   {3, 32, 17, 3, 1, 1, 1, 1}, {12, 20, 30, 1, 1, 0, 0, 1},
    {17, 5, 33, 3, 1, 1, 1, 1}, {64, 28, 128, 3, 1, 1, 1, 4}, {3, 64, 32, 3, 2, 0, 1, 1}, {64, 28, 64, 3, 2, 0, 1, 1},
};

ConvDesc DescOf(const Shape& s, int64_t batch, ConvKind kind, DType type, bool channels_last, size_t spatial = 2) {
  const int64_t out = (s.size + s.before + s.after - s.kernel) / s.stride + 1;
  ConvDesc d;
  d.kind = kind, d.type = type, d.groups = s.groups, d.channels_last = d.filter_channels_last = channels_last;
  d.x = {batch, s.in_c}, d.w = {s.out_c, s.in_c / s.groups}, d.y = {batch, s.out_c};
  d.x.insert(d.x.end(), spatial, s.size), d.w.insert(d.w.end(), spatial, s.kernel), d.y.insert(d.y.end(), spatial, out);
  d.pads_begin.assign(spatial, s.before), d.pads_end.assign(spatial, s.after);
  d.strides.assign(spatial, s.stride), d.dilations.assign(spatial, 1);
  return d;
}

std::string Text(const ConvDesc& d) {
  std::string text = std::string(Name(d.type)) + (d.channels_last ? " channels last" : " row-major") + ", kind " +
                     std::to_string(static_cast<int>(d.kind));
  for (const auto* dims : {&d.x, &d.w, &d.y}) {
    text += " [";
    for (int64_t n : *dims) text += " " + std::to_string(n);
    text += " ]";
  }
  return text + (d.bias ? " bias" : "") + (d.residual ? " residual" : "");
}

class CudnnPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<CudnnApi> api = CudnnApi::Open();
    if (!api.ok()) GTEST_SKIP() << api.status().message();
    if (api->get_version() < 90800) GTEST_SKIP() << "cuDNN " << api->get_version() << " plans for present devices only";
    api_ = *api;
    absl::StatusOr<CudnnTarget> target = DescribedTarget(api_, kH200);
    ASSERT_OK(target);
    target_ = *std::move(target);
  }

  void ExpectPlan(const ConvDesc& desc) {
    const absl::StatusOr<CudnnPlan> plan = PlanCudnn(api_, target_, desc, kWorkspaceLimit);
    ASSERT_TRUE(plan.ok()) << Text(desc) << ": " << plan.status().message();
    EXPECT_LE(plan->workspace_bytes, kWorkspaceLimit) << Text(desc);
    EXPECT_GE(plan->workspace_bytes, 0) << Text(desc);
  }

  template <class F>
  void ForEachDesc(F f) {
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (const bool channels_last : {false, true}) {
        for (const int64_t batch : {1, 32}) {
          for (const Shape& s : kResNet50) f(s, batch, type, channels_last);
          for (const Shape& s : kOdd) f(s, batch, type, channels_last);
        }
      }
    }
  }

  CudnnApi api_;
  CudnnTarget target_;
};

TEST_F(CudnnPlans, EveryConvolutionAndItsGradientsHaveOne) {
  ForEachDesc([this](const Shape& s, int64_t batch, DType type, bool channels_last) {
    for (const ConvKind kind : {ConvKind::kForward, ConvKind::kInputGradient, ConvKind::kFilterGradient}) {
      ExpectPlan(DescOf(s, batch, kind, type, channels_last));
    }
  });
}

TEST_F(CudnnPlans, TheConvolutionAddsBiasAndResidualAndAppliesRelu) {
  ForEachDesc([this](const Shape& s, int64_t batch, DType type, bool channels_last) {
    ConvDesc desc = DescOf(s, batch, ConvKind::kForward, type, channels_last);
    desc.bias = true;
    desc.bias_type = type;
    ExpectPlan(desc);
    desc.activation = ConvActivation::kRelu;
    ExpectPlan(desc);
    desc.residual = true;
    ExpectPlan(desc);
    desc.activation = ConvActivation::kNone;
    ExpectPlan(desc);
  });
}

TEST_F(CudnnPlans, LinesAndVolumes) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const size_t spatial : {1, 3}) {
      for (const ConvKind kind : {ConvKind::kForward, ConvKind::kInputGradient, ConvKind::kFilterGradient}) {
        ExpectPlan(DescOf({16, 20, 32, 3, 1, 1, 1, 1}, 4, kind, type, false, spatial));
        ExpectPlan(DescOf({16, 20, 32, 3, 2, 0, 0, 1}, 4, kind, type, true, spatial));
      }
    }
  }
}

TEST_F(CudnnPlans, TensorCoresOnlyWhereF32MayBeTf32) {
  ConvDesc desc = DescOf({64, 56, 64, 3, 1, 1, 1, 1}, 32, ConvKind::kForward, DType::kF32, true);
  const absl::StatusOr<CudnnPlan> exact = PlanCudnn(api_, target_, desc, kWorkspaceLimit);
  ASSERT_OK(exact);
  desc.tf32 = true;
  const absl::StatusOr<CudnnPlan> fast = PlanCudnn(api_, target_, desc, kWorkspaceLimit);
  ASSERT_OK(fast);
  EXPECT_NE(exact->engine, fast->engine);
}

TEST_F(CudnnPlans, ASizeThatDoesNotFitIsAnError) {
  ConvDesc desc = DescOf({64, 56, 64, 3, 1, 1, 1, 1}, 32, ConvKind::kForward, DType::kF32, true);
  ++desc.y[2];
  EXPECT_FALSE(PlanCudnn(api_, target_, desc, kWorkspaceLimit).ok());
  desc = DescOf({512, 28, 256, 1, 1, 0, 0, 1}, 32, ConvKind::kFilterGradient, DType::kF16, false);
  const absl::StatusOr<CudnnPlan> small = PlanCudnn(api_, target_, desc, 0);
  EXPECT_TRUE(!small.ok() || small->workspace_bytes == 0);
}

}  // namespace
}  // namespace ampc::testing
