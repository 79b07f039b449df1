// Quantised arithmetic against the definition: integers exactly, what is rounded once within that rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "graph/base/error.h"
#include "kernels/layout.h"
#include "kernels/lib/int8.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

std::pair<float, float> EndsOf(DType t) {
  const float span = std::ldexp(1.0f, BitsOf(t));
  return IsSignedInteger(t) ? std::pair(-span / 2, span / 2 - 1) : std::pair(0.0f, span - 1);
}

// Of x over scale.
float Quantized(float ratio, int zero, DType to) {
  const auto [low, high] = EndsOf(to);
  return std::isnan(ratio) ? 0 : std::clamp(std::nearbyint(ratio) + static_cast<float>(zero), low, high);
}

// Whole numbers as a tensor of a type of up to 16 bits.
Tensor Whole(DType t, const Shape& dims, const std::vector<int>& values) {
  if (t == DType::kU8) return Of<uint8_t>(dims, std::vector<uint8_t>(values.begin(), values.end()));
  if (t == DType::kI8) return Of<int8_t>(dims, std::vector<int8_t>(values.begin(), values.end()));
  if (t == DType::kU16) return Of<uint16_t>(dims, std::vector<uint16_t>(values.begin(), values.end()));
  return Of<int16_t>(dims, std::vector<int16_t>(values.begin(), values.end()));
}

std::vector<float> Values(const Tensor& t) {
  const auto as = [](const auto& v) { return std::vector<float>(v.begin(), v.end()); };
  if (t.dtype == DType::kU8) return as(t.As<uint8_t>());
  if (t.dtype == DType::kI8) return as(t.As<int8_t>());
  if (t.dtype == DType::kU16) return as(t.As<uint16_t>());
  if (t.dtype == DType::kI16) return as(t.As<int16_t>());
  if (t.dtype == DType::kI32) return as(t.As<int32_t>());
  return t.floats();
}

std::vector<int> Bytes(DType t, int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> values(n);
  for (int& v : values) {
    const int byte = static_cast<int>(random() % 256);
    v = random() % 4 == 0 ? (byte % 2 == 0 ? 0 : 255) : byte;  // the ends often, where a sum that saturates shows
    if (t == DType::kI8) v -= 128;
  }
  return values;
}

TEST(AffineQuantize, EveryTypeAndExtreme) {
  std::vector<float> x = {0,     -0.0f, 0.5f,  1.5f, 2.5f,   -0.5f,     -1.5f,   254.5f,   255.5f,    1e30f, -1e30f,
                          3e38f, kInf,  -kInf, kNan, 1e-40f, 127.4999f, -128.5f, 65535.5f, -32768.5f, 1,     7.25f};
  for (const DType to : {DType::kU8, DType::kI8, DType::kU16, DType::kI16}) {
    for (const float scale : {1.0f, 0.1f, 3e-5f, 1e30f}) {
      for (const int zero : {0, 1, 100}) {
        for (size_t n = 1; n <= 3 * x.size(); n += 5) {
          std::vector<float> v(n);
          for (size_t i = 0; i < n; ++i) v[i] = x[i % x.size()];
          const Shape dims = {static_cast<int64_t>(n)};
          ASSERT_OK_AND_ASSIGN(const auto got, OpRun("affine_quantize")
                                                   .In("X", F32(dims, v))
                                                   .In("Scale", F32({}, {scale}))
                                                   .In("ZeroPoint", Whole(to, {}, {zero}))
                                                   .Attr("out_dtype", to)
                                                   .Out("Out")
                                                   .Run());
          const std::vector<float> values = Values(got[0]);
          for (size_t i = 0; i < n; ++i)
            ASSERT_EQ(values[i], Quantized(v[i] / scale, zero, to)) << Name(to) << " of " << v[i] << " / " << scale << " + " << zero;
        }
      }
    }
  }
}

TEST(AffineQuantize, AlongAnAxisAndBack) {
  for (const Shape& dims : std::vector<Shape>{{3}, {2, 3}, {3, 5}, {2, 3, 17}, {1, 3, 40000}}) {
    const int axis = dims.size() == 1 || dims[0] == 3 ? 0 : 1;
    const Tensor x = Random(dims, 3, -20, 20), scale = F32({3}, {0.1f, 0.02f, 1}), zero = Whole(DType::kI8, {3}, {0, -3, 100});
    ASSERT_OK_AND_ASSIGN(const auto q, OpRun("affine_quantize")
                                           .In("X", x)
                                           .In("Scale", scale)
                                           .In("ZeroPoint", zero)
                                           .Attr("axis", axis)
                                           .Attr("out_dtype", DType::kI8)
                                           .Out("Out")
                                           .Run());
    ASSERT_OK_AND_ASSIGN(
        const auto back,
        OpRun("affine_dequantize").In("X", q[0]).In("Scale", scale).In("ZeroPoint", zero).Attr("axis", axis).Out("Out").Run());
    const int64_t inner = x.stored.num_elements() / (axis == 0 ? 3 : dims[0] * 3);
    const std::vector<float> ints = Values(q[0]), floats = back[0].floats(), v = x.floats(), scales = scale.floats();
    const std::vector<int8_t> zeros = zero.As<int8_t>();
    for (size_t i = 0; i < v.size(); ++i) {
      const int64_t c = static_cast<int64_t>(i) / inner % 3;
      const int z = zeros[c];
      ASSERT_EQ(ints[i], Quantized(v[i] / scales[c], z, DType::kI8)) << i;
      ASSERT_EQ(floats[i], (ints[i] - static_cast<float>(z)) * scales[c]) << i;
    }
  }
}

TEST(AffineDequantize, EveryType) {
  for (const DType from : {DType::kU8, DType::kI8, DType::kU16, DType::kI16}) {
    const auto [low, high] = EndsOf(from);
    std::vector<int> v;
    for (int i = 0; i < 37; ++i) v.push_back(static_cast<int>(i % 3 == 0 ? low : i % 3 == 1 ? high : static_cast<float>(i)));
    ASSERT_OK_AND_ASSIGN(const auto got, OpRun("affine_dequantize")
                                             .In("X", Whole(from, {37}, v))
                                             .In("Scale", F32({1}, {0.3f}))
                                             .In("ZeroPoint", Whole(from, {1}, {5}))
                                             .Out("Out")
                                             .Run());
    for (int i = 0; i < 37; ++i) ASSERT_EQ(got[0].floats()[i], static_cast<float>(v[i] - 5) * 0.3f);
  }
  ASSERT_OK_AND_ASSIGN(const auto got,
                       OpRun("affine_dequantize").In("X", I32({3}, {1 << 30, -7, 0})).In("Scale", F32({}, {0.5f})).Out("Out").Run());
  EXPECT_EQ(got[0].floats(), (std::vector<float>{1 << 29, -3.5f, 0}));
}

struct Product {
  Shape x, y;
  DType x_type = DType::kU8, y_type = DType::kI8;
  int x_zero = 0, y_zero = 0;
  bool transposed = false;
};

// X and Y as f64 of what they stand for, multiplied.
std::vector<int64_t> SumsOf(const Product& p, const std::vector<int>& x, const std::vector<int>& y) {
  const int64_t m = p.x[p.x.size() - 2], k = p.x.back(), n = p.y[p.y.size() - (p.transposed ? 2 : 1)];
  const int64_t xs = static_cast<int64_t>(x.size()) / (m * k), ys = static_cast<int64_t>(y.size()) / (k * n);
  std::vector<int64_t> sums;
  for (int64_t b = 0; b < std::max(xs, ys); ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          const int64_t right = b % ys * k * n + (p.transposed ? j * k + l : l * n + j);
          sum += (x[(b % xs * m + i) * k + l] - p.x_zero) * static_cast<int64_t>(y[right] - p.y_zero);
        }
        sums.push_back(sum);
      }
  return sums;
}

void CheckProduct(const Product& p) {
  SCOPED_TRACE(::testing::PrintToString(p.x) + " by " + ::testing::PrintToString(p.y) + " zeros " + std::to_string(p.x_zero) + " " +
               std::to_string(p.y_zero));
  const auto count = [](const Shape& s) { return std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>()); };
  const std::vector<int> x = Bytes(p.x_type, count(p.x), 1), y = Bytes(p.y_type, count(p.y), 2);
  const int64_t n = p.y[p.y.size() - (p.transposed ? 2 : 1)];
  std::vector<float> scales(n), bias(n);
  for (int64_t i = 0; i < n; ++i) {
    scales[i] = 0.001f * static_cast<float>(i + 1);
    bias[i] = static_cast<float>(i) - 3;
  }
  const std::vector<int64_t> sums = SumsOf(p, x, y);
  for (const bool constant : {false, true}) {
    const auto run = [&](int what) {  // sums, fp32, quantised
      OpRun op("quantized_matmul");
      op.In("X", Whole(p.x_type, p.x, x));
      constant ? op.Const("Y", Whole(p.y_type, p.y, y)) : op.In("Y", Whole(p.y_type, p.y, y));
      if (what > 0) op.In("XScale", F32({}, {0.5f}));
      op.In("XZeroPoint", Whole(p.x_type, {1}, {p.x_zero}));
      if (what > 0) op.In("YScale", F32({n}, scales));
      op.In("YZeroPoint", Whole(p.y_type, {}, {p.y_zero}));
      if (what > 0) op.In("Bias", F32({n}, bias));
      if (what > 1) op.In("OutScale", F32({1}, {7.5f})).In("OutZeroPoint", Whole(DType::kI8, {1}, {-128})).Attr("out_dtype", DType::kI8);
      if (what > 0) op.Attr("fuse_activation", std::string("relu6")).Attr("fuse_alpha", 1000.0f);
      return op.Attr("trans_y", p.transposed).Out("Out").Run();
    };
    if (!onednn::HasExactInt8()) {
      EXPECT_THAT(run(0).status(), StatusIs(ExitCode::kUnsupported, ::testing::HasSubstr("needs VNNI")));
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const auto whole, run(0));
    ASSERT_OK_AND_ASSIGN(const auto wide, run(1));
    ASSERT_OK_AND_ASSIGN(const auto narrow, run(2));
    const std::vector<int32_t> found = whole[0].As<int32_t>();
    const std::vector<float> floats = wide[0].floats(), steps = Values(narrow[0]);
    ASSERT_EQ(found.size(), sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      const size_t column = i % static_cast<size_t>(n);
      ASSERT_EQ(found[i], sums[i]) << i;
      const double value = std::clamp(
          static_cast<double>(sums[i]) * 0.5 * static_cast<double>(scales[column]) + static_cast<double>(bias[column]), 0.0, 1000.0);
      ASSERT_NEAR(floats[i], value, 1e-6 * (std::abs(static_cast<double>(sums[i]) * 0.5 * static_cast<double>(scales[column])) + 10)) << i;
      const float step = static_cast<float>(value / 7.5);
      ASSERT_LE(std::abs(steps[i] - Quantized(step, -128, DType::kI8)), std::abs(step - std::floor(step) - 0.5f) < 1e-3f ? 1 : 0) << i;
    }
  }
}

TEST(QuantizedMatmul, MatchesTheDefinition) {
  for (const DType x_type : {DType::kU8, DType::kI8}) {
    for (const DType y_type : {DType::kU8, DType::kI8}) {
      for (const auto& [x_zero, y_zero] : {std::pair(0, 0), std::pair(3, 0), std::pair(0, 100), std::pair(127, 1)}) {
        CheckProduct({{1, 1}, {1, 1}, x_type, y_type, x_zero, y_zero});
        CheckProduct({{5, 33}, {33, 17}, x_type, y_type, x_zero, y_zero});
        CheckProduct({{2, 3, 65}, {65, 4}, x_type, y_type, x_zero, y_zero});
        CheckProduct({{2, 3, 20}, {2, 20, 19}, x_type, y_type, x_zero, y_zero});
        CheckProduct({{2, 1, 700}, {700, 40}, x_type, y_type, x_zero, y_zero});
        CheckProduct({{7, 31}, {16, 31}, x_type, y_type, x_zero, y_zero, true});
      }
    }
  }
}

struct Convolution {
  Shape x, w;
  int stride = 1, pad = 0, dilation = 1, groups = 1;
  DType x_type = DType::kU8, w_type = DType::kI8;
  int x_zero = 0, w_zero = 0;
};

// The sums, and what each is made of: the sum of the products' sizes.
std::vector<std::pair<double, double>> SumsOf(const Convolution& c, const std::vector<int>& x, const std::vector<int>& w, Shape* dims) {
  const auto out = [&](int64_t in, int64_t k) { return (in + 2 * c.pad - ((k - 1) * c.dilation + 1)) / c.stride + 1; };
  *dims = {c.x[0], c.w[0], out(c.x[2], c.w[2]), out(c.x[3], c.w[3])};
  std::vector<std::pair<double, double>> sums;
  for (int64_t n = 0; n < c.x[0]; ++n)
    for (int64_t o = 0; o < c.w[0]; ++o)
      for (int64_t i = 0; i < (*dims)[2]; ++i)
        for (int64_t j = 0; j < (*dims)[3]; ++j) {
          double sum = 0, size = 0;
          for (int64_t k = 0; k < c.w[1]; ++k)
            for (int64_t a = 0; a < c.w[2]; ++a)
              for (int64_t b = 0; b < c.w[3]; ++b) {
                const int64_t row = i * c.stride - c.pad + a * c.dilation, col = j * c.stride - c.pad + b * c.dilation;
                if (row < 0 || row >= c.x[2] || col < 0 || col >= c.x[3]) continue;
                const int64_t channel = o / (c.w[0] / c.groups) * c.w[1] + k;
                const double product = (x[((n * c.x[1] + channel) * c.x[2] + row) * c.x[3] + col] - c.x_zero) *
                                       (w[((o * c.w[1] + k) * c.w[2] + a) * c.w[3] + b] - c.w_zero);
                sum += product;
                size += std::abs(product);
              }
          sums.emplace_back(sum, size);
        }
  return sums;
}

void CheckConvolution(const Convolution& c) {
  SCOPED_TRACE(::testing::PrintToString(c.x) + " by " + ::testing::PrintToString(c.w) + " zeros " + std::to_string(c.x_zero) + " " +
               std::to_string(c.w_zero));
  const auto count = [](const Shape& s) { return std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>()); };
  const std::vector<int> x = Bytes(c.x_type, count(c.x), 1), w = Bytes(c.w_type, count(c.w), 2);
  Shape dims;
  const auto sums = SumsOf(c, x, w, &dims);
  const int64_t filters = c.w[0], positions = dims[2] * dims[3];
  std::vector<float> scales(filters), bias(filters);
  for (int64_t i = 0; i < filters; ++i) {
    scales[i] = 0.002f * static_cast<float>(i + 1);
    bias[i] = static_cast<float>(i) - 3;
  }
  for (const bool quantises : {false, true}) {
    for (const int last : {0, 1, 2, 3}) {  // bits: operand, result
      OpRun op("quantized_conv2d");
      op.In("Input", Whole(c.x_type, c.x, x)).Const("Filter", Whole(c.w_type, c.w, w)).Const("InputScale", F32({}, {0.5f}));
      op.Const("InputZeroPoint", Whole(c.x_type, {1}, {c.x_zero})).Const("FilterScale", F32({filters}, scales));
      op.Const("FilterZeroPoint", Whole(c.w_type, {filters}, std::vector<int>(filters, c.w_zero))).Const("Bias", F32({filters}, bias));
      if (quantises) op.Const("OutScale", F32({}, {9.5f})).Const("OutZeroPoint", Whole(DType::kU8, {}, {3})).Attr("out_dtype", DType::kU8);
      op.Attr("fuse_activation", std::string("relu"))
          .Attr("strides", std::vector<int32_t>(2, c.stride))
          .Attr("paddings", std::vector<int32_t>(2, c.pad));
      op.Attr("dilations", std::vector<int32_t>(2, c.dilation)).Attr("groups", c.groups);
      if ((last & 1) != 0) op.ChannelsLast("Input");
      if ((last & 2) != 0) op.ChannelsLast("Output");
      ASSERT_OK_AND_ASSIGN(const auto got, op.Out("Output").Run());
      const std::vector<float> values = Values(got[0]);
      ASSERT_EQ(values.size(), sums.size());
      for (size_t i = 0; i < sums.size(); ++i) {
        const int64_t f = static_cast<int64_t>(i) / positions % filters;
        const double factor = 0.5 * static_cast<double>(scales[f]),
                     value = std::max(0.0, sums[i].first * factor + static_cast<double>(bias[f]));
        const double near = 1e-6 * (sums[i].second * factor + 10);
        if (!quantises) {
          ASSERT_NEAR(values[i], value, near) << i;
          continue;
        }
        const double step = value / 9.5;
        ASSERT_LE(std::abs(values[i] - Quantized(static_cast<float>(step), 3, DType::kU8)),
                  std::abs(step - std::floor(step) - 0.5) < near ? 1 : 0)
            << i;
      }
    }
  }
}

TEST(QuantizedConv2D, MatchesTheDefinition) {
  for (const DType x_type : {DType::kU8, DType::kI8}) {
    const int x_zero = x_type == DType::kU8 ? 114 : -5;
    for (const auto& [w_type, w_zero] :
         {std::pair(DType::kI8, 0), std::pair(DType::kI8, 2), std::pair(DType::kU8, 128), std::pair(DType::kU8, 7)}) {
      const auto check = [&, type = w_type, zero = w_zero](Convolution c) {
        c.x_type = x_type;
        c.x_zero = x_zero;
        c.w_type = type;
        c.w_zero = zero;
        CheckConvolution(c);
      };
      check({{1, 1, 1, 1}, {1, 1, 1, 1}});
      check({{1, 3, 9, 11}, {5, 3, 3, 3}, 2, 1});
      check({{2, 16, 6, 5}, {17, 16, 1, 1}});
      check({{1, 20, 7, 7}, {20, 1, 3, 3}, 1, 1, 1, 20});
      check({{1, 12, 8, 8}, {6, 4, 3, 3}, 1, 2, 2, 3});
      check({{1, 70, 5, 6}, {33, 70, 3, 3}, 1, 1});
    }
  }
}

TEST(ConvertByteLayout, IsATranspositionPerImage) {
  for (const Shape& dims :
       std::vector<Shape>{{1, 1, 1, 1}, {2, 3, 5, 7}, {1, 3, 48, 32}, {2, 16, 1, 16}, {1, 33, 17, 1}, {1, 100, 30, 41}, {0, 3, 2, 2}}) {
    const Dims d(dims.begin(), dims.end());
    const int64_t n = dims[0] * dims[1] * dims[2] * dims[3], hw = dims[2] * dims[3];
    std::vector<uint8_t> x(n), last(n), back(n);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<uint8_t>(i * 7 + i / 256);
    for (const int threads : {1, 3}) {
      ConvertByteLayout(threads, d, Layout::kPlain, Layout::kChannelsLast, x.data(), last.data());
      ConvertByteLayout(threads, d, Layout::kChannelsLast, Layout::kPlain, last.data(), back.data());
      EXPECT_EQ(back, x);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(last[(i / (dims[1] * hw) * hw + i % hw) * dims[1] + i / hw % dims[1]], x[i]);
    }
  }
}

}  // namespace
}  // namespace ampc::testing
