// Labels that are no classes: the CPU refuses them; a device, which the host does not wait for, answers NaN for their rows.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/loss/cross_entropy.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/testlib/status.h"

namespace ampc::cuda {
namespace {

// Rows of `size` classes with the labels 1, -7 (ignored), -1 and `size`.
void CheckRows(int64_t size) {
  const std::shared_ptr<Device> device = NewEmulatedDevice(0);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device->NewStream());
  std::vector<float> x(4 * size, 0.25f), dx(4 * size), loss(4), g(4, 1.0f);
  const std::vector<int64_t> labels = {1, -7, -1, size};
  CrossEntropyParams p;
  p.rows.outer = 4;
  p.rows.size = size;
  p.ignore = -7;
  p.label = {labels.data(), DType::kI64};
  p.x = x.data();
  p.loss = {loss.data(), DType::kF32};
  p.g = {g.data(), DType::kF32};
  p.dx = dx.data();
  ASSERT_EQ(LaunchCrossEntropy(stream->native(), p), 0);
  ASSERT_EQ(LaunchCrossEntropyGradient(stream->native(), p), 0);
  ASSERT_OK(stream->Synchronize());
  EXPECT_NEAR(loss[0], std::log(static_cast<double>(size)), 1e-5);
  EXPECT_EQ(loss[1], 0);
  EXPECT_TRUE(std::isnan(loss[2]));
  EXPECT_TRUE(std::isnan(loss[3]));
  for (int64_t i = 0; i < size; ++i) {
    EXPECT_EQ(dx[i], i == 1 ? -0.75f : 0.25f) << i;
    EXPECT_EQ(dx[size + i], 0) << i;
    EXPECT_TRUE(std::isnan(dx[2 * size + i]) && std::isnan(dx[3 * size + i])) << i;
  }
}

TEST(LabelsTest, NotAClassIsNaN) {
  CheckRows(5);
  CheckRows(48);
}

}  // namespace
}  // namespace ampc::cuda
