// The table of devices: every number is one that a device can have.
#include "graph/device_numbers.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace ampc {
namespace {

TEST(DeviceNumbers, ArePossible) {
  std::set<std::string> names;
  for (const DeviceNumbers& d : AllDeviceNumbers()) {
    SCOPED_TRACE(d.name);
    EXPECT_TRUE(names.insert(std::string(d.name)).second);
    EXPECT_EQ(FindDeviceNumbers(d.name), &d);
    // From a slow core to a GPU of some generations hence.
    for (const double rate : {d.f32_flops, d.f32_grouped}) EXPECT_TRUE(rate >= 1e9 && rate <= 1e15) << rate;
    for (const double rate : {d.bf16_flops, d.f16_flops, d.bf16_grouped, d.f16_grouped})
      EXPECT_TRUE(rate == 0 || (rate >= 1e9 && rate <= 1e16)) << rate;
    EXPECT_LE(d.f32_grouped, d.f32_flops);
    EXPECT_LE(d.bf16_grouped, d.bf16_flops);
    EXPECT_LE(d.f16_grouped, d.f16_flops);
    EXPECT_TRUE(d.far_bytes >= 1e9 && d.far_bytes <= d.near_bytes && d.near_bytes <= 1e14) << d.far_bytes << ", " << d.near_bytes;
    EXPECT_LE(d.kept, d.near);
    EXPECT_TRUE(d.near == 0 || (d.near >= 1e4 && d.near <= 1e9)) << d.near;  // 0: all memory alike
    for (const double rate : {d.converted, d.in_tiles}) EXPECT_TRUE(rate == 0 || (rate >= 1e8 && rate <= 1e14)) << rate;
    EXPECT_TRUE(d.sweep >= 1e-8 && d.sweep <= 1e-4) << d.sweep;
  }
  EXPECT_EQ(FindDeviceNumbers("abacus"), nullptr);
}

}  // namespace
}  // namespace ampc
