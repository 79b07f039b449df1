// Convolutions against a sum in double precision over the definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/kernels/layouts.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::string op = "conv2d";
  Shape x = {};       // [n, c, h, w]
  Shape filter = {};  // as the op has it
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0};  // 2, or 4: top, bottom, left, right
  std::vector<int32_t> dilations = {1, 1};
  int groups = 1;
  std::string padding_algorithm = "EXPLICIT";
  bool bias = false, residual = false, constant = true, nhwc = false;
  DType dtype = DType::kF32;
  std::string activation = "";
  std::vector<int32_t> output_padding = {}, output_size = {};
};

std::string Text(const Case& c) {
  const auto list = [](const auto& v) {
    std::string s;
    for (const auto i : v) s += " " + std::to_string(i);
    return "[" + s + " ]";
  };
  return c.op + list(c.x) + list(c.filter) + list(c.strides) + list(c.paddings) + list(c.dilations) + " groups " +
         std::to_string(c.groups) + " " + c.padding_algorithm + (c.bias ? " bias" : "") + (c.residual ? " residual" : "") +
         (c.constant ? "" : " filter given per run") + (c.nhwc ? " NHWC" : "") + " " + std::string(Name(c.dtype)) + " " + c.activation;
}

struct Pads {
  int64_t top, bottom, left, right, dh, dw;
};

Pads PadsOf(const Case& c, int64_t kh, int64_t kw) {
  if (c.padding_algorithm == "VALID") return {0, 0, 0, 0, c.dilations[0], c.dilations[1]};
  if (c.padding_algorithm == "SAME") {
    const auto total = [](int64_t in, int64_t s, int64_t k) { return std::max<int64_t>(((in + s - 1) / s - 1) * s + k - in, 0); };
    const int64_t h = total(c.x[2], c.strides[0], kh), w = total(c.x[3], c.strides[1], kw);
    return {h / 2, h - h / 2, w / 2, w - w / 2, 1, 1};
  }
  if (c.paddings.size() == 2) return {c.paddings[0], c.paddings[0], c.paddings[1], c.paddings[1], c.dilations[0], c.dilations[1]};
  return {c.paddings[0], c.paddings[1], c.paddings[2], c.paddings[3], c.dilations[0], c.dilations[1]};
}

double Activate(const std::string& name, double x) {
  if (name == "relu") return x > 0 ? x : 0;
  if (name == "relu6") return std::min(std::max(x, 0.0), 6.0);
  if (name == "hard_swish") return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
  if (name == "hard_sigmoid") return std::min(std::max(0.2 * x + 0.5, 0.0), 1.0);
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "swish") return x / (1 + std::exp(-x));
  if (name == "tanh") return std::tanh(x);
  if (name == "gelu") return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  if (name == "leaky_relu") return x > 0 ? x : 0.02 * x;
  return x;
}

struct Expected {
  Shape dims;
  std::vector<double> values;
  std::vector<double> scale;  // sum of magnitudes: what rounding errors are proportional to
};

// [n, c, h, w] whatever the op's data_format.
Expected Reference(const Case& c, const Tensor& x, const Tensor& f, const Tensor* bias, const Tensor* residual, const Shape& out) {
  const int64_t kh = c.filter[2], kw = c.filter[3];
  const Pads p = PadsOf(c, kh, kw);
  const bool transposed = c.op == "conv2d_transpose";
  Expected e{out, {}, {}};
  const int64_t total = out[0] * out[1] * out[2] * out[3];
  e.values.assign(total, 0);
  e.scale.assign(total, 0);
  const std::vector<float> xs = x.floats(), fs = f.floats();
  const int64_t in_g = c.x[1] / c.groups, out_g = out[1] / c.groups;
  const auto add = [&](int64_t n, int64_t oc, int64_t oh, int64_t ow, int64_t ic, int64_t ih, int64_t iw, float w) {
    const size_t at = ((n * out[1] + oc) * out[2] + oh) * out[3] + ow;
    const double v = static_cast<double>(xs[((n * c.x[1] + ic) * c.x[2] + ih) * c.x[3] + iw]) * w;
    e.values[at] += v;
    e.scale[at] += std::abs(v);
  };
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t g = 0; g < c.groups; ++g)
      for (int64_t o = 0; o < out_g; ++o)
        for (int64_t i = 0; i < in_g; ++i)
          for (int64_t y = 0; y < kh; ++y)
            for (int64_t z = 0; z < kw; ++z) {
              const int64_t oc = g * out_g + o, ic = g * in_g + i;
              const float w = transposed ? fs[((ic * out_g + o) * kh + y) * kw + z] : fs[((oc * in_g + i) * kh + y) * kw + z];
              // The side that moves by one step per position, and the side that moves by strides.
              const int64_t hs = transposed ? c.x[2] : out[2], ws = transposed ? c.x[3] : out[3];
              const int64_t hl = transposed ? out[2] : c.x[2], wl = transposed ? out[3] : c.x[3];
              for (int64_t h = 0; h < hs; ++h)
                for (int64_t v = 0; v < ws; ++v) {
                  const int64_t a = h * c.strides[0] - p.top + y * p.dh, b = v * c.strides[1] - p.left + z * p.dw;
                  if (a < 0 || a >= hl || b < 0 || b >= wl) continue;
                  if (transposed) {
                    add(n, oc, a, b, ic, h, v, w);
                  } else {
                    add(n, oc, h, v, ic, a, b, w);
                  }
                }
            }
  for (int64_t i = 0; i < total; ++i) {
    if (bias != nullptr) e.values[i] += bias->floats()[i / (out[2] * out[3]) % out[1]];
    if (residual != nullptr) e.values[i] += residual->floats()[i];
    e.values[i] = Activate(c.activation, e.values[i]);
  }
  return e;
}

Shape OutShape(const Case& c) {
  const int64_t kh = c.filter[2], kw = c.filter[3];
  const Pads p = PadsOf(c, kh, kw);
  if (c.op == "conv2d_transpose") {
    int64_t h = (c.x[2] - 1) * c.strides[0] - p.top - p.bottom + p.dh * (kh - 1) + 1,
            w = (c.x[3] - 1) * c.strides[1] - p.left - p.right + p.dw * (kw - 1) + 1;
    if (!c.output_padding.empty()) {
      h += c.output_padding[0];
      w += c.output_padding[1];
    }
    if (!c.output_size.empty()) {
      h = c.output_size[0];
      w = c.output_size[1];
    }
    return {c.x[0], c.filter[1] * c.groups, h, w};
  }
  return {c.x[0], c.filter[0], (c.x[2] + p.top + p.bottom - p.dh * (kh - 1) - 1) / c.strides[0] + 1,
          (c.x[3] + p.left + p.right - p.dw * (kw - 1) - 1) / c.strides[1] + 1};
}

Tensor Typed(Tensor t, DType dtype) { return Low(dtype, Shape(t.dims().begin(), t.dims().end()), t.floats()); }

void Check(const Case& c, Tensor x) {
  SCOPED_TRACE(Text(c));
  x = Typed(std::move(x), c.dtype);
  const Shape out = OutShape(c);
  const Tensor f = Typed(Random(c.filter, 2, -1, 1), c.dtype), bias = Typed(Random({out[1]}, 3), c.dtype),
               residual = Typed(Random(out, 4), c.dtype);
  OpRun run(c.op);
  run.In("Input", c.nhwc ? ToNhwc(x) : x);
  c.constant ? run.Const("Filter", f) : run.In("Filter", f);
  if (c.bias) run.In("Bias", bias);
  if (c.residual) run.In("ResidualData", c.nhwc ? ToNhwc(residual) : residual);
  run.Attr("strides", c.strides).Attr("paddings", c.paddings).Attr("dilations", c.dilations).Attr("groups", c.groups);
  run.Attr("padding_algorithm", c.padding_algorithm);
  if (c.nhwc) run.Attr("data_format", std::string("NHWC"));
  if (!c.activation.empty()) run.Attr("fuse_activation", c.activation);
  if (!c.output_padding.empty()) run.Attr("output_padding", c.output_padding);
  if (!c.output_size.empty()) run.Attr("output_size", c.output_size);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results, run.Out("Output").Run());
  const Tensor got = c.nhwc ? ToNchw(results[0]) : results[0];
  const Expected want = Reference(c, x, f, c.bias ? &bias : nullptr, c.residual ? &residual : nullptr, out);
  ASSERT_EQ(Shape(got.dims().begin(), got.dims().end()), want.dims);
  const std::vector<float> values = got.floats();
  int wrong = 0;
  for (size_t i = 0; i < values.size() && wrong < 5; ++i) {
    Tolerance tolerance = ToleranceFor(c.dtype);
    tolerance.abs += ToleranceFor(DType::kF32).rel * want.scale[i];  // cancellation in a sum of f32 products
    if (std::isinf(want.scale[i]) || std::isnan(want.scale[i])) tolerance.abs = 0;
    if (!Near(values[i], want.values[i], tolerance)) {
      ++wrong;
      ADD_FAILURE() << "element " << i << " is " << values[i] << ", needs " << want.values[i];
    }
  }
}

void Check(const Case& c) { Check(c, Random(c.x, 1, -1, 1)); }

TEST(Conv2D, MatchesTheDefinition) {
  Check({.x = {1, 1, 1, 1}, .filter = {1, 1, 1, 1}});
  Check({.x = {2, 3, 9, 7}, .filter = {5, 3, 3, 3}, .bias = true});
  Check({.x = {1, 3, 12, 20}, .filter = {16, 3, 3, 3}, .strides = {2, 2}, .paddings = {1, 1}, .bias = true});
  Check({.x = {1, 32, 6, 10}, .filter = {48, 32, 1, 1}, .bias = true});
  Check({.x = {2, 16, 8, 8}, .filter = {16, 16, 3, 3}, .strides = {2, 1}, .paddings = {1, 1}});
  Check({.x = {1, 17, 5, 9}, .filter = {33, 17, 1, 3}, .paddings = {0, 1}, .bias = true});
  Check({.x = {1, 8, 1, 1}, .filter = {4, 8, 1, 1}, .bias = true});
  Check({.x = {1, 64, 14, 14}, .filter = {64, 64, 3, 3}, .paddings = {1, 1}, .bias = true});
}

TEST(Conv2D, PaddingStridesAndDilations) {
  Check({.x = {1, 4, 9, 8}, .filter = {8, 4, 3, 2}, .strides = {2, 3}, .paddings = {0, 2, 1, 0}});
  Check({.x = {1, 4, 11, 11}, .filter = {8, 4, 3, 3}, .paddings = {2, 2}, .dilations = {2, 2}});
  Check({.x = {1, 4, 11, 11}, .filter = {8, 4, 3, 3}, .paddings = {3, 1, 0, 2}, .dilations = {3, 1}});
  Check({.x = {1, 4, 10, 7}, .filter = {8, 4, 3, 4}, .strides = {2, 2}, .padding_algorithm = "SAME"});
  Check({.x = {1, 4, 10, 7}, .filter = {8, 4, 3, 4}, .paddings = {1, 1}, .padding_algorithm = "VALID"});
  Check({.x = {1, 2, 3, 3}, .filter = {3, 2, 2, 2}, .paddings = {4, 4}});
  Check({.x = {1, 8, 4, 4}, .filter = {8, 8, 1, 1}, .strides = {2, 2}, .paddings = {1, 0, 1, 0}});
}

// Sums so long that they are cut into parts of one thread each.
TEST(Conv2D, LongSumsDoNotDependOnThreads) {
  Check({.x = {1, 300, 9, 20}, .filter = {16, 300, 5, 5}, .paddings = {2, 2}, .bias = true, .activation = "relu"});
  Check({.x = {2, 600, 11, 6}, .filter = {8, 600, 3, 3}, .strides = {2, 1}, .paddings = {1, 0, 2, 1}, .bias = true, .residual = true});
  Check({.x = {1, 600, 16, 8}, .filter = {16, 600, 3, 3}, .paddings = {2, 2}, .dilations = {2, 2}, .constant = false, .nhwc = true});
  Check({.x = {1, 600, 4, 5}, .filter = {8, 600, 3, 3}, .paddings = {4, 4}});
}

// Filters so large beside their results that parts have some of the channels.
TEST(Conv2D, LargeFiltersAreCutByChannels) {
  Check({.x = {1, 256, 5, 6}, .filter = {128, 256, 3, 3}, .paddings = {1, 1}, .bias = true, .activation = "relu"});
  Check({.x = {3, 256, 6, 5}, .filter = {192, 256, 3, 3}, .strides = {2, 1}, .nhwc = true});
  Check({.x = {2, 256, 5, 5}, .filter = {128, 256, 3, 3}, .paddings = {1, 1}, .constant = false});
}

TEST(Conv2D, Groups) {
  Check({.x = {1, 8, 6, 6}, .filter = {12, 4, 3, 3}, .paddings = {1, 1}, .groups = 2, .bias = true});
  Check({.x = {2, 32, 5, 5}, .filter = {32, 16, 1, 1}, .groups = 2});
  Check({.op = "depthwise_conv2d", .x = {1, 16, 7, 9}, .filter = {16, 1, 3, 3}, .paddings = {1, 1}, .groups = 16, .bias = true});
  Check({.op = "depthwise_conv2d", .x = {2, 20, 7, 9}, .filter = {20, 1, 5, 5}, .strides = {2, 1}, .paddings = {2, 2}, .groups = 20});
  Check({.op = "depthwise_conv2d", .x = {1, 6, 7, 9}, .filter = {12, 1, 3, 3}, .groups = 6});
  Check({.op = "depthwise_conv2d", .x = {1, 3, 7, 9}, .filter = {3, 1, 3, 3}, .dilations = {2, 2}, .groups = 3});
}

TEST(Conv2D, FilterPerRunBiasResidualAndLayouts) {
  for (const bool constant : {false, true}) {
    for (const bool nhwc : {false, true}) {
      for (const bool residual : {false, true}) {
        Check({.x = {2, 5, 6, 7},
               .filter = {9, 5, 3, 3},
               .paddings = {1, 1},
               .bias = true,
               .residual = residual,
               .constant = constant,
               .nhwc = nhwc,
               .activation = "relu"});
        Check({.op = "depthwise_conv2d",
               .x = {1, 16, 6, 7},
               .filter = {16, 1, 3, 3},
               .groups = 16,
               .residual = residual,
               .constant = constant,
               .nhwc = nhwc});
      }
    }
  }
}

TEST(Conv2D, FusedActivations) {
  for (const char* act : {"relu", "relu6", "hard_swish", "hard_sigmoid", "sigmoid", "swish", "tanh", "gelu", "leaky_relu"}) {
    Check({.x = {1, 16, 6, 7}, .filter = {24, 16, 3, 3}, .paddings = {1, 1}, .bias = true, .activation = act});
    Check({.x = {1, 16, 6, 7}, .filter = {24, 16, 1, 1}, .bias = true, .residual = true, .activation = act});
    Check({.op = "depthwise_conv2d", .x = {1, 16, 6, 7}, .filter = {16, 1, 3, 3}, .groups = 16, .bias = true, .activation = act});
  }
}

// Fewer channels than a vector has lanes: what the other lanes hold shows in no result.
TEST(Conv2D, FusedActivationsOfFewChannels) {
  for (const char* act : {"sigmoid", "hard_sigmoid", "relu"}) {
    for (int64_t channels : {1, 2, 3, 5, 7, 9, 17}) {
      for (bool nhwc : {false, true}) {
        Check({.x = {1, 8, 40, 64}, .filter = {channels, 8, 5, 5}, .paddings = {2, 2}, .bias = true, .nhwc = nhwc, .activation = act});
      }
    }
  }
}

TEST(Conv2D, ScalesAndShiftsAfterTheActivation) {
  const Tensor x = Random({1, 16, 6, 7}, 1, -1, 1), f = Random({8, 16, 1, 1}, 2, -1, 1);
  OpRun run("conv2d");
  run.In("Input", x).Const("Filter", f).Attr("fuse_activation", std::string("relu")).Out("Output");
  ASSERT_OK_AND_ASSIGN(const auto plain, run.Run());
  ASSERT_OK_AND_ASSIGN(const auto scaled, run.Attr("fuse_scale", 1.5f).Attr("fuse_shift", -0.25f).Run());
  for (size_t i = 0; i < plain[0].floats().size(); ++i) {
    EXPECT_TRUE(Near(scaled[0].floats()[i], 1.5 * plain[0].floats()[i] - 0.25, ToleranceFor(DType::kF32)));
  }
}

TEST(Conv2D, LowPrecisionIsTheRoundedSum) {
  for (const DType t : {DType::kF16, DType::kBF16}) {
    Check({.x = {1, 32, 9, 11}, .filter = {32, 32, 3, 3}, .paddings = {1, 1}, .bias = true, .dtype = t, .activation = "relu"});
    Check({.x = {2, 64, 5, 6}, .filter = {40, 64, 1, 1}, .bias = true, .residual = true, .dtype = t});
    Check({.x = {2, 64, 5, 6}, .filter = {40, 64, 1, 1}, .constant = false, .dtype = t});
    Check({.op = "depthwise_conv2d", .x = {1, 16, 7, 9}, .filter = {16, 1, 3, 3}, .groups = 16, .dtype = t});
  }
}

TEST(Conv2D, NonFiniteValuesPassThroughTheSum) {
  Tensor x = Random({1, 16, 6, 6}, 1, 0.5, 1);
  x.stored.mutable_values<float>()[7] = kInf;
  x.stored.mutable_values<float>()[150] = -kInf;
  x.stored.mutable_values<float>()[300] = kNaN;
  Check({.x = {1, 16, 6, 6}, .filter = {16, 16, 1, 1}, .bias = true}, x);
  Check({.x = {1, 16, 6, 6}, .filter = {16, 16, 1, 1}, .bias = true, .dtype = DType::kF16}, x);
  Check({.x = {1, 16, 6, 6}, .filter = {16, 16, 1, 1}, .bias = true, .dtype = DType::kBF16}, x);
}

TEST(Conv2D, EmptyOperands) {
  Check({.x = {0, 3, 5, 5}, .filter = {4, 3, 3, 3}, .bias = true});
  Check({.x = {1, 3, 5, 5}, .filter = {0, 3, 3, 3}});
  Check({.x = {1, 0, 5, 5}, .filter = {4, 0, 3, 3}, .bias = true, .activation = "relu"});
}

TEST(Conv2DTranspose, MatchesTheDefinition) {
  const std::string op = "conv2d_transpose";
  Check({.op = op, .x = {1, 4, 5, 6}, .filter = {4, 8, 3, 3}, .bias = true});
  Check({.op = op, .x = {2, 24, 5, 6}, .filter = {24, 24, 2, 2}, .strides = {2, 2}, .bias = true});
  Check({.op = op, .x = {1, 4, 5, 6}, .filter = {4, 6, 4, 3}, .strides = {2, 3}, .paddings = {1, 0}});
  Check({.op = op, .x = {1, 4, 5, 6}, .filter = {4, 6, 3, 3}, .strides = {2, 2}, .paddings = {0, 1, 1, 0}, .dilations = {2, 1}});
  Check({.op = op, .x = {1, 4, 5, 6}, .filter = {4, 3, 3, 3}, .strides = {2, 2}, .paddings = {1, 1}, .groups = 2});
  Check({.op = op, .x = {1, 16, 5, 6}, .filter = {16, 1, 4, 4}, .strides = {2, 2}, .paddings = {1, 1}, .groups = 16});
  Check({.op = op, .x = {1, 4, 5, 6}, .filter = {4, 6, 3, 3}, .strides = {2, 2}, .paddings = {1, 1}, .output_padding = {1, 1}});
  Check({.op = op, .x = {1, 4, 5, 6}, .filter = {4, 6, 3, 3}, .strides = {3, 3}, .paddings = {1, 1}, .output_size = {14, 18}});
  Check({.op = op,
         .x = {1, 4, 5, 6},
         .filter = {4, 6, 3, 3},
         .strides = {2, 2},
         .bias = true,
         .constant = false,
         .nhwc = true,
         .activation = "relu"});
  for (const DType t : {DType::kF16, DType::kBF16}) {
    Check({.op = op, .x = {1, 32, 5, 6}, .filter = {32, 32, 2, 2}, .strides = {2, 2}, .bias = true, .dtype = t});
  }
}

// Large enough to be computed as convolutions of every stride-th tap.
TEST(Conv2DTranspose, GeneratedPhases) {
  const Tensor image = Random({1, 16, 9, 16}, 1), filter = Random({16, 16, 4, 4}, 2);
  ASSERT_OK_AND_ASSIGN(const auto kernel, OpRun("conv2d_transpose")
                                              .In("Input", image)
                                              .Const("Filter", filter)
                                              .Attr("strides", std::vector<int32_t>{2, 2})
                                              .Attr("paddings", std::vector<int32_t>{1, 1})
                                              .Out("Output")
                                              .Make());
  EXPECT_NE(kernel->implementation().find(":phases"), std::string::npos) << kernel->implementation();
  std::mt19937 rng(1);
  const auto pick = [&rng](std::vector<int64_t> of) { return of[rng() % of.size()]; };
  const auto pair = [&](std::vector<int64_t> of) {
    return std::vector<int32_t>{static_cast<int32_t>(pick(of)), static_cast<int32_t>(pick(of))};
  };
  for (int round = 0; round < 20; ++round) {
    const int64_t in = pick({16, 20}), out = pick({16, 21}), k = pick({2, 3, 4, 5});
    Case c{.op = "conv2d_transpose", .x = {pick({1, 2}), in, pick({5, 8}), pick({6, 7})}, .filter = {in, out, k, pick({k, k, 3})}};
    c.strides = pair({1, 2, 2, 3});
    c.paddings = pair({0, 1});
    c.bias = pick({0, 1}) == 1;
    c.nhwc = pick({0, 1, 1}) == 1;
    c.activation = pick({0, 1}) == 1 ? "" : pick({0, 1}) == 1 ? "relu" : "hard_swish";
    c.dtype = pick({0, 1}) == 1 ? DType::kBF16 : DType::kF32;
    if (c.strides[0] > 1 && c.strides[1] > 1 && pick({0, 1}) == 1) c.output_padding = {1, 1};
    Check(c);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ampc::testing
