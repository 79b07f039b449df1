// conv3d and conv3d_transpose against double precision, on shapes that are divided among threads.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

struct Sum {
  double value = 0, magnitude = 0;
};

// Adds each product of an element of X at `at`, a filter position and the place it goes to or comes from. Equal stride and padding along
// the three axes.
std::vector<Sum> Reference(const Tensor& x, const Tensor& filter, const Shape& out, int64_t stride, int64_t pad, bool transposed) {
  const auto d = x.dims(), f = filter.dims();
  const std::vector<float> xs = x.floats(), fs = filter.floats();
  const int64_t from = f[0], to = f[1];  // channels of the filter's first two dimensions
  const Shape inner =
      transposed ? Shape(d.begin(), d.end()) : out;  // the smaller grid, whose positions are strides apart in the larger one
  const Shape outer = transposed ? out : Shape(d.begin(), d.end());
  std::vector<Sum> sums(out[0] * out[1] * out[2] * out[3] * out[4]);
  const auto flat = [](const Shape& s, int64_t n, int64_t c, int64_t z, int64_t y, int64_t w) {
    return (((n * s[1] + c) * s[2] + z) * s[3] + y) * s[4] + w;
  };
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t a = 0; a < from; ++a)
      for (int64_t b = 0; b < to; ++b)
        for (int64_t i = 0; i < inner[2] * inner[3] * inner[4]; ++i)
          for (int64_t k = 0; k < f[2] * f[3] * f[4]; ++k) {
            const int64_t iz = i / inner[4] / inner[3], iy = i / inner[4] % inner[3], ix = i % inner[4];
            const int64_t z = iz * stride - pad + k / f[4] / f[3], y = iy * stride - pad + k / f[4] % f[3],
                          w = ix * stride - pad + k % f[4];
            if (z < 0 || y < 0 || w < 0 || z >= outer[2] || y >= outer[3] || w >= outer[4]) continue;
            const int64_t in_inner = flat(inner, n, a, iz, iy, ix), in_outer = flat(outer, n, b, z, y, w);
            const double product = static_cast<double>(xs[transposed ? in_inner : in_outer]) * fs[(a * to + b) * f[2] * f[3] * f[4] + k];
            Sum& sum = sums[transposed ? in_outer : in_inner];
            sum.value += product;
            sum.magnitude += std::abs(product);
          }
  return sums;
}

void Check(const std::string& op, const Shape& x_dims, const Shape& f_dims, int32_t stride, int32_t pad, DType dtype = DType::kF32) {
  SCOPED_TRACE(op + ::testing::PrintToString(x_dims) + ::testing::PrintToString(f_dims));
  const Tensor x = Low(dtype, x_dims, Random(x_dims, 1).floats()), filter = Low(dtype, f_dims, Random(f_dims, 2).floats());
  for (const bool constant : {true, false}) {
    OpRun run(op);
    run.In("Input", x).Attr("strides", std::vector<int32_t>(3, stride)).Attr("paddings", std::vector<int32_t>(3, pad)).Out("Output");
    constant ? run.Const("Filter", filter) : run.In("Filter", filter);
    ASSERT_OK_AND_ASSIGN(const auto got, run.Run());
    const Shape out(got[0].dims().begin(), got[0].dims().end());
    const std::vector<Sum> want = Reference(x, filter, out, stride, pad, op == "conv3d_transpose");
    const std::vector<float> values = got[0].floats();
    const Tolerance t = ToleranceFor(dtype);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_LE(std::abs(values[i] - want[i].value), t.abs + t.rel * want[i].magnitude) << "element " << i;
    }
  }
}

TEST(Conv3D, SumsItsWindows) {
  Check("conv3d", {1, 16, 6, 10, 9}, {32, 16, 3, 3, 3}, 1, 1);  // sums long enough to be cut into planes
  Check("conv3d", {2, 3, 9, 8, 7}, {20, 3, 3, 3, 3}, 2, 1);
  Check("conv3d", {1, 8, 4, 5, 6}, {8, 8, 1, 1, 1}, 1, 0);
  Check("conv3d", {1, 16, 6, 10, 9}, {32, 16, 3, 3, 3}, 1, 1, DType::kBF16);
}

TEST(Conv3DTranspose, IsTheMirror) {
  Check("conv3d_transpose", {1, 16, 3, 5, 4}, {16, 12, 3, 3, 3}, 2, 1);
  Check("conv3d_transpose", {2, 4, 4, 3, 5}, {4, 8, 2, 2, 2}, 2, 0);
}

}  // namespace
}  // namespace ampc::testing
