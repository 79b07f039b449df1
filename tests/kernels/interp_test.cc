// nearest_interp_v2 and bilinear_interp_v2 against the framework's formulas, element by element.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;

struct InterpCase {
  int64_t in_h, in_w, out_h, out_w;
  bool corners;
  int mode;
  float scale = 0;  // given as an attribute where not 0
};

class Interp : public ::testing::TestWithParam<InterpCase> {};

float Ratio(int64_t in, int64_t out, const InterpCase& c) {
  if (out <= 1) return 0;
  return c.corners     ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
         : c.scale > 0 ? 1 / c.scale
                       : static_cast<float>(in) / static_cast<float>(out);
}

float Want(const std::vector<float>& x, const InterpCase& c, bool linear, int64_t k, int64_t l) {
  const float rh = Ratio(c.in_h, c.out_h, c), rw = Ratio(c.in_w, c.out_w, c);
  if (!linear) {
    const float half = c.corners ? 0.5f : 0;
    return x[static_cast<int64_t>(rh * k + half) * c.in_w + static_cast<int64_t>(rw * l + half)];
  }
  const bool shifted = c.mode == 0 && !c.corners;
  const float fy = std::max(0.0f, shifted ? rh * (k + 0.5f) - 0.5f : rh * k),
              fx = std::max(0.0f, shifted ? rw * (l + 0.5f) - 0.5f : rw * l);
  const int64_t y0 = static_cast<int64_t>(fy), x0 = static_cast<int64_t>(fx), y1 = std::min(y0 + 1, c.in_h - 1),
                x1 = std::min(x0 + 1, c.in_w - 1);
  const float dy = fy - y0, dx = fx - x0;
  return x[y0 * c.in_w + x0] * (1 - dy) * (1 - dx) + x[y1 * c.in_w + x0] * dy * (1 - dx) + x[y0 * c.in_w + x1] * (1 - dy) * dx +
         x[y1 * c.in_w + x1] * dy * dx;
}

TEST_P(Interp, AgreesWithTheFormula) {
  const InterpCase& c = GetParam();
  const Tensor plane = Random({c.in_h * c.in_w}, 3);
  const std::vector<float> x = plane.floats();
  std::vector<float> two = x, nhwc;  // two channels, the second negated
  for (float v : x) two.push_back(-v);
  for (float v : x) nhwc.insert(nhwc.end(), {v, -v});
  for (const bool linear : {false, true}) {
    for (const bool last : {false, true}) {
      OpRun run(linear ? "bilinear_interp_v2" : "nearest_interp_v2");
      run.In("X", last ? F32({1, c.in_h, c.in_w, 2}, nhwc) : F32({1, 2, c.in_h, c.in_w}, two)).Attr("data_layout", last ? "NHWC" : "NCHW");
      run.Attr("align_corners", c.corners).Attr("align_mode", c.mode).Out("Out");
      if (c.scale > 0) {
        run.Attr("scale", std::vector<float>{c.scale, c.scale});
      } else {
        run.Attr("out_h", static_cast<int32_t>(c.out_h)).Attr("out_w", static_cast<int32_t>(c.out_w));
      }
      ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
      ASSERT_EQ(r[0].stored.num_elements(), 2 * c.out_h * c.out_w);
      const auto found = r[0].stored.values<float>();
      for (int64_t k = 0; k < c.out_h; ++k) {
        for (int64_t l = 0; l < c.out_w; ++l) {
          const float want = Want(x, c, linear, k, l);
          const int64_t at = k * c.out_w + l;
          ASSERT_TRUE(Near(found[last ? 2 * at : at], want, ToleranceFor(DType::kF32))) << linear << last << " at " << k << ", " << l;
          ASSERT_TRUE(Near(found[last ? 2 * at + 1 : at + c.out_h * c.out_w], -want, ToleranceFor(DType::kF32)));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Interp,
                         ::testing::Values(InterpCase{3, 4, 6, 8, true, 1}, InterpCase{3, 4, 6, 8, false, 1},
                                           InterpCase{3, 4, 6, 8, false, 0}, InterpCase{7, 5, 3, 4, true, 0},
                                           InterpCase{7, 5, 3, 4, false, 0}, InterpCase{7, 5, 3, 4, false, 1},
                                           InterpCase{1, 1, 4, 3, true, 1}, InterpCase{4, 3, 1, 1, true, 1},
                                           InterpCase{4, 6, 8, 12, false, 0, 2.0f}, InterpCase{5, 5, 12, 12, false, 1, 2.5f},
                                           InterpCase{40, 60, 80, 120, false, 0}, InterpCase{5, 7, 5, 7, true, 1}));

TEST(Interp, SizeFromTensors) {
  const Tensor x = F32({1, 1, 1, 2}, {1, 3});
  ASSERT_OK_AND_ASSIGN(
      auto r, OpRun("nearest_interp_v2").In("X", x).Const("OutSize", I32({2}, {1, 4})).Attr("align_corners", false).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(1, 1, 3, 3));
  ASSERT_OK_AND_ASSIGN(
      r, OpRun("bilinear_interp_v2").In("X", x).Const("SizeTensor", I32({1}, {1})).Const("SizeTensor", I32({1}, {3})).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(1, 2, 3));
  ASSERT_OK_AND_ASSIGN(r,
                       OpRun("nearest_interp_v2").In("X", x).Const("Scale", F32({1}, {2})).Attr("align_corners", false).Out("Out").Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(1, 1, 2, 4));
}

// The vector loops against the plain ones, which only doubles have: any number of channels and dims, up and down, in each storage of bf16.
TEST(Interp, FloatsGiveWhatDoublesGive) {
  const std::vector<std::string> ops = {"linear_interp_v2", "bilinear_interp_v2", "bicubic_interp_v2", "trilinear_interp_v2"};
  for (uint32_t seed = 0; seed < 80; ++seed) {
    std::mt19937 rng(seed);
    const auto below = [&rng](int n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)); };
    const std::string& op = ops[seed % ops.size()];
    const size_t spatial = seed % 4 == 0 ? 1 : seed % 4 == 3 ? 3 : 2;
    const bool last = below(2) == 0 || spatial == 3, corners = below(2) == 0, low = below(2) == 0;
    const int64_t channels = 1 + below(40);
    Shape dims = {1 + below(2)};
    if (!last) dims.push_back(channels);
    std::vector<int32_t> sizes;
    for (size_t i = 0; i < spatial; ++i) {
      dims.push_back(1 + below(i + 1 == spatial ? 70 : 6));
      sizes.push_back(static_cast<int32_t>(1 + below(i + 1 == spatial ? 70 : 9)));
    }
    if (last) dims.push_back(channels);
    Tensor x = Random(dims, seed);
    if (low) x = Low(DType::kBF16, dims, x.floats());
    const std::vector<float> values = x.floats();
    const Tensor doubles = Of<double>(dims, std::vector<double>(values.begin(), values.end()));
    const auto run = [&](const Tensor& from) {
      OpRun r(op);
      r.In("X", from).Attr("align_corners", corners).Attr("align_mode", static_cast<int32_t>(seed % 2)).Out("Out");
      r.Attr("data_layout", std::string(spatial == 3 ? "NDHWC" : last ? "NHWC" : "NCHW"));
      const char* const names[] = {"out_d", "out_h", "out_w"};
      for (size_t i = 0; i < spatial; ++i) r.Attr(names[3 - spatial + i], sizes[i]);
      return r.Run();
    };
    ASSERT_OK_AND_ASSIGN(const auto want, run(doubles));
    ASSERT_OK_AND_ASSIGN(const auto found, run(x));
    const std::vector<double> a = want[0].doubles();
    const std::vector<float> b = found[0].floats();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_TRUE(Near(b[i], static_cast<float>(a[i]), GoldenToleranceFor(op, low ? DType::kBF16 : DType::kF32, 2)))
          << op << " seed " << seed << " at " << i;
    }
  }
}

}  // namespace
}  // namespace ampc::testing
