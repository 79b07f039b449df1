// Every CPU kernel has a device kernel, or stands here with the reason why the host computes it.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "kernels/cpu/kernels_registry.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/kernel_registry.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

const std::map<std::string, std::string> kOnTheHost = {
    {"affine_dequantize", "a plan for a device has element-wise steps instead (lower-onnx{quantized=none})"},
    {"affine_quantize", "a plan for a device has element-wise steps instead (lower-onnx{quantized=none})"},
    {"bitcast", "bits of numbers are shape arithmetic or packing, which models do once"},
    {"determinant", "an elimination of small matrices, each step after the other; rare in models"},
    {"feed", "a plan copies feeds to the device by itself"},
    {"fetch", "a plan copies fetches from the device by itself"},
    {"fused_attention", "made for the CPU alone (PlanOptions::attention)"},
    {"put_along_axis", "updates of one position go one after the other; models have them in shape arithmetic and caches"},
    {"quantized_conv2d", "a plan for a device has the products that the file has (lower-onnx{quantized=none})"},
    {"quantized_matmul", "a plan for a device has the products that the file has (lower-onnx{quantized=none})"},
    {"roi_pool", "regions of whole pixels, as networks before roi_align have them"},
    {"scatter_nd_update", "updates of one position go one after the other; models have them in shape arithmetic and caches"},
    {"unfold", "the columns of an image; models have convolutions instead"},
    {"window_pool", "pools that pool2d and pool3d do not have: indices, dilations, integers, norms"},
};

const std::set<std::string> kOfPlans = {"convert_layout"};  // what a plan puts between ops, for which the CPU has no entry

TEST(Coverage, TheListIsWellFormed) {
  KernelRegistry registry;
  EXPECT_OK(RegisterCudaKernels(&registry));  // no two kernels for one op
}

TEST(Coverage, EveryKernelIsOnTheDeviceOrSaysWhyNot) {
  std::set<std::string> missing;
  for (const KernelEntry* cpu : CpuKernels().All()) {
    if (cpu->make == nullptr) continue;  // its shape depends on data: the host computes it between two plans
    if (CudaKernels().Find(cpu->op) == nullptr) missing.insert(cpu->op);
  }
  for (const std::string& op : missing) EXPECT_TRUE(kOnTheHost.contains(op)) << op << " has no device kernel and no reason";
  for (const auto& [op, reason] : kOnTheHost)
    EXPECT_TRUE(missing.contains(op)) << op << " is listed, but has a device kernel, or none on the CPU";
}

TEST(Coverage, NoDeviceKernelIsForAnUnknownOp) {
  for (const KernelEntry* device : CudaKernels().All()) {
    EXPECT_TRUE(kOfPlans.contains(device->op) || CpuKernels().Find(device->op) != nullptr) << device->op;
  }
}

// A type that the CPU computes in and the device does not would silently run on the host.
TEST(Coverage, FloatTypesAreThoseOfTheCpu) {
  for (const KernelEntry* device : CudaKernels().All()) {
    const KernelEntry* cpu = CpuKernels().Find(device->op);
    if (cpu == nullptr) continue;
    const std::set<DType> types(device->dtypes.begin(), device->dtypes.end());
    for (const DType type : cpu->dtypes) {
      const bool common = type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
      EXPECT_TRUE(!common || types.contains(type)) << device->op << " in " << Name(type);
    }
  }
}

}  // namespace
}  // namespace ampc::testing
