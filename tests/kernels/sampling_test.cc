// Kernels that sample at positions, on shapes that are divided among threads; their values are in the golden results of ops.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/base/error.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::Each;
using ::testing::FloatNear;

// Weights of every method sum to 1.
TEST(Sampling, OfAConstantIsTheConstant) {
  const Tensor image = F32({2, 3, 20, 30}, std::vector<float>(2 * 3 * 20 * 30, 2.5f));
  for (const char* op : {"bicubic_interp_v2", "bilinear_interp_v2", "nearest_interp_v2"}) {
    for (const bool last : {false, true}) {
      OpRun run(op);
      run.In("X", image).Attr("out_h", 47).Attr("out_w", 61).Attr("align_corners", false).Out("Out");
      if (last) run.ChannelsLast("X").ChannelsLast("Out");
      ASSERT_OK_AND_ASSIGN(const auto got, run.Run());
      EXPECT_THAT(got[0].floats(), Each(FloatNear(2.5f, 1e-5f))) << op;
    }
  }
  const Tensor volume = F32({1, 4, 6, 10, 12}, std::vector<float>(4 * 6 * 10 * 12, -1.5f));
  OpRun run("trilinear_interp_v2");
  ASSERT_OK_AND_ASSIGN(const auto got, run.In("X", volume).Attr("out_d", 9).Attr("out_h", 17).Attr("out_w", 25).Out("Out").Run());
  EXPECT_THAT(got[0].floats(), Each(FloatNear(-1.5f, 1e-5f)));
}

// The grid of the identity gives the image back.
TEST(Sampling, AtItsOwnPositionsIsTheImage) {
  const Tensor theta = F32({2, 2, 3}, {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0});
  const Tensor x = Random({2, 5, 40, 50}, 1);
  for (const bool corners : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto grid, OpRun("affine_grid")
                                              .In("Theta", theta)
                                              .Attr("output_shape", std::vector<int32_t>{2, 5, 40, 50})
                                              .Attr("align_corners", corners)
                                              .Out("Output")
                                              .Run());
    ASSERT_OK_AND_ASSIGN(const auto got,
                         OpRun("grid_sampler").In("X", x).In("Grid", grid[0]).Attr("align_corners", corners).Out("Output").Run());
    const std::vector<float> want = x.floats(), values = got[0].floats();
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(values[i], want[i], 1e-4) << i;
  }
}

TEST(RoiAlign, OfARampIsItsMiddle) {
  std::vector<float> ramp;
  for (int i = 0; i < 2 * 8 * 32 * 40; ++i) ramp.push_back(static_cast<float>(i % 40));
  const Tensor boxes = F32({3, 4}, {4, 4, 20, 20, 8, 2, 24, 30, 0, 0, 32, 16});
  const auto run = [&](const Tensor& counts) {
    return OpRun("roi_align")
        .In("X", F32({2, 8, 32, 40}, ramp))
        .In("ROIs", boxes)
        .In("RoisNum", counts)
        .Attr("pooled_height", 2)
        .Attr("pooled_width", 1)
        .Attr("aligned", true)
        .Out("Out")
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(const auto got, run(I32({2}, {1, 2})));
  const std::vector<float> values = got[0].floats();
  for (int i = 0; i < 3 * 8 * 2; ++i) EXPECT_NEAR(values[i], i / 16 == 0 ? 11.5 : 15.5, 1e-4) << i;
  EXPECT_EQ(ExitCodeOf(run(I32({2}, {1, 1})).status()), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(run(I32({2}, {-1, 4})).status()), ExitCode::kUsage);
}

TEST(RoiAlign, OfABoxWithoutASizeIsNaN) {
  const float inf = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(const auto got,
                       OpRun("roi_align").In("X", Random({1, 1, 4, 4}, 1)).In("ROIs", F32({1, 4}, {0, 0, inf, 2})).Out("Out").Run());
  EXPECT_TRUE(std::isnan(got[0].floats()[0]));
}

// Bins share pixels at their borders; what lies outside of the image is none.
TEST(RoiPool, BinsAreTheLargestOfTheirPixels) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Tensor x = F32({2, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -1, -2, -3, -4, -5, nan, -7, -8, -9, -10, -11, -12});
  const Tensor boxes = F32({4, 4}, {0, 0, 2, 1, 9, 0, 12, 1, 0, 0, 1, 3, 0, 0, inf, 1});
  OpRun run("roi_pool");
  run.In("X", x).In("ROIs", boxes).Attr("pooled_width", 2).Out("Out").Out("Argmax");
  ASSERT_OK_AND_ASSIGN(const auto got, run.In("RoisNum", I32({2}, {2, 2})).Run());
  const std::vector<float> want = {6, 7, 0, 0, -1, nan, nan, nan}, values = got[0].floats();
  ASSERT_EQ(values.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(values[i] == want[i] || (std::isnan(values[i]) && std::isnan(want[i]))) << i;
  EXPECT_EQ(got[1].As<int64_t>(), (std::vector<int64_t>{5, 6, -1, -1, 0, 5, -1, -1}));
}

TEST(Einsum, IsTheProductWhateverTheOrder) {
  const Tensor a = Random({6, 40, 50}, 1), b = Random({6, 50, 30}, 2);
  ASSERT_OK_AND_ASSIGN(const auto want, OpRun("bmm").In("X", a).In("Y", b).Out("Out").Run());
  ASSERT_OK_AND_ASSIGN(const auto got,
                       OpRun("einsum").In("Operands", a).In("Operands", b).Attr("equation", "bij,bjk->kib").Out("Out").Run());
  const std::vector<float> x = want[0].floats(), y = got[0].floats();
  for (int64_t n = 0; n < 6; ++n)
    for (int64_t i = 0; i < 40; ++i)
      for (int64_t k = 0; k < 30; ++k) ASSERT_NEAR(y[(k * 40 + i) * 6 + n], x[(n * 40 + i) * 30 + k], 1e-4);
}

}  // namespace
}  // namespace ampc::testing
