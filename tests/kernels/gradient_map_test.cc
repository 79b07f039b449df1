// Gradient kernels where difference quotients are blind: large shapes, exact selections, low types, dropout's mask, results that nobody
// wants.
#include <cmath>
#include <limits>

#include "graph/base/error.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Each element near the one needed, measured on the largest.
void ExpectNear(const Tensor& found, const std::vector<double>& needed) {
  const std::vector<float> values = found.floats();
  ASSERT_EQ(values.size(), needed.size());
  double largest = 0;
  for (double v : needed) largest = std::max(largest, std::abs(v));
  const Tolerance t = ToleranceFor(DType::kF32);
  for (size_t i = 0; i < needed.size(); ++i) ASSERT_NEAR(values[i], needed[i], t.abs + t.rel * largest) << "element " << i;
}

TEST(MapGradient, BiasOfManyRows) {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{5000, 7}, {3000, 130}, {1, 40000}, {2500, 1}}) {
    const Tensor x = Random({rows, columns}, 1), b = Random({columns}, 2), g = Random({rows, columns}, 3);
    std::vector<double> sums(columns);
    for (int64_t i = 0; i < rows * columns; ++i) sums[i % columns] += g.stored.values<float>()[i];
    OpRun run("elementwise_add_grad");
    ASSERT_OK_AND_ASSIGN(const auto r, run.In("X", x).In("Y", b).In("Out@GRAD", g).Out("X@GRAD").Out("Y@GRAD").Run());
    EXPECT_TRUE(r[0].stored == g.stored);
    ExpectNear(r[1], sums);
    OpRun only("elementwise_add_grad");
    ASSERT_OK_AND_ASSIGN(const auto y, only.In("X", x).In("Y", b).In("Out@GRAD", g).Out("Y@GRAD").Run());
    EXPECT_TRUE(y[0].stored == r[1].stored);
  }
}

TEST(MapGradient, ProductsOfLargeOperandsSpreadOverChannels) {
  const Shape shape = {32, 3, 2000};
  const Tensor x = Random(shape, 1), y = Random({3}, 2), g = Random(shape, 3);
  std::vector<double> dx(x.stored.num_elements()), dy(3);
  for (int64_t i = 0; i < x.stored.num_elements(); ++i) {
    const int64_t c = i / 2000 % 3;
    dx[i] = static_cast<double>(g.stored.values<float>()[i]) * y.stored.values<float>()[c];
    dy[c] += static_cast<double>(g.stored.values<float>()[i]) * x.stored.values<float>()[i];
  }
  OpRun run("elementwise_mul_grad");
  run.In("X", x).In("Y", y).In("Out@GRAD", g).Attr("axis", 1).Out("X@GRAD").Out("Y@GRAD");
  ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
  ExpectNear(r[0], dx);
  ExpectNear(r[1], dy);
}

TEST(MapGradient, ProductsOfManyRows) {
  const Tensor x = Random({2100, 67}, 1), y = Random({67}, 2), g = Random({2100, 67}, 3);
  std::vector<double> sums(67);
  for (int64_t i = 0; i < 2100 * 67; ++i) sums[i % 67] += static_cast<double>(g.stored.values<float>()[i]) * x.stored.values<float>()[i];
  OpRun second("elementwise_mul_grad"), first("elementwise_mul_grad");
  ASSERT_OK_AND_ASSIGN(auto r, second.In("X", x).In("Y", y).In("Out@GRAD", g).Out("Y@GRAD").Run());
  ExpectNear(r[0], sums);
  ASSERT_OK_AND_ASSIGN(r, first.In("X", y).In("Y", x).In("Out@GRAD", g).Out("X@GRAD").Run());
  ExpectNear(r[0], sums);
}

TEST(MapGradient, MeanAndReluOfLargeOperands) {
  const Tensor x = Random({100001}, 1), g = F32({1}, {2});
  ASSERT_OK_AND_ASSIGN(const auto m, OpRun("mean_grad").In("X", x).In("Out@GRAD", g).Out("X@GRAD").Run());
  EXPECT_THAT(m[0].floats(), Each(2 * static_cast<float>(1.0 / 100001)));
  const Tensor dy = Random({100001}, 2);
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("relu_grad").In("Out", x).In("Out@GRAD", dy).Out("X@GRAD").Run());
  for (int i = 0; i < 100001; ++i) {
    ASSERT_EQ(r[0].stored.values<float>()[i], x.stored.values<float>()[i] > 0 ? dy.stored.values<float>()[i] : 0.0f) << i;
  }
}

TEST(MapGradient, AtKinksAsPaddle) {
  const Tensor x = F32({4}, {-1, 0, 1, 2}), one = F32({4}, {1, 1, 1, 1});
  const auto unary = [&](const char* op, const char* slot) { return OpRun(op).In(slot, x).In("Out@GRAD", one).Out("X@GRAD").Run(); };
  ASSERT_OK_AND_ASSIGN(auto r, unary("relu_grad", "Out"));
  EXPECT_THAT(r[0].floats(), ElementsAre(0, 0, 1, 1));
  ASSERT_OK_AND_ASSIGN(r, unary("abs_grad", "X"));
  EXPECT_THAT(r[0].floats(), ElementsAre(-1, 0, 1, 1));
  ASSERT_OK_AND_ASSIGN(r, OpRun("clip_grad").In("X", x).In("Out@GRAD", one).Attr("min", 0.0f).Attr("max", 2.0f).Out("X@GRAD").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(0, 0, 1, 0));
  const auto binary = [&](const char* op) {
    return OpRun(op).In("X", x).In("Y", F32({4}, {0, 0, 1, 3})).In("Out@GRAD", one).Out("X@GRAD").Out("Y@GRAD").Run();
  };
  ASSERT_OK_AND_ASSIGN(r, binary("elementwise_max_grad"));
  EXPECT_THAT(r[0].floats(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(r[1].floats(), ElementsAre(1, 1, 1, 1));
  ASSERT_OK_AND_ASSIGN(r, binary("elementwise_min_grad"));
  EXPECT_THAT(r[0].floats(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(r[1].floats(), ElementsAre(0, 1, 1, 0));
  OpRun most("reduce_max_grad");
  most.In("X", F32({4}, {2, 1, 2, 0})).In("Out", F32({1}, {2})).In("Out@GRAD", F32({1}, {3})).Attr("dim", std::vector<int64_t>{0});
  ASSERT_OK_AND_ASSIGN(r, most.Out("X@GRAD").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(3, 0, 3, 0));
}

TEST(MapGradient, OfLargeOperandsIsFiniteWhereTheSlopeIs) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor x = F32({6}, {-kInf, -1e30f, -200, 200, 1e30f, kInf}), one = F32({6}, {1, 1, 1, 1, 1, 1});
  for (const char* op : {"gelu_grad", "silu_grad", "mish_grad", "softplus_grad", "elu_grad", "celu_grad"}) {
    ASSERT_OK_AND_ASSIGN(const auto r, OpRun(op).In("X", x).In("Out@GRAD", one).Out("X@GRAD").Run());
    EXPECT_THAT(r[0].floats(), ElementsAre(0, 0, 0, 1, 1, 1)) << op;
  }
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("gelu_grad").In("X", x).In("Out@GRAD", one).Attr("approximate", true).Out("X@GRAD").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(MapGradient, InDoubleToo) {
  const Tensor x = Of<double>({3}, {-0.5, 0.25, 2}), g = Of<double>({3}, {1, 2, 3});
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("sin_grad").In("X", x).In("Out@GRAD", g).Out("X@GRAD").Run());
  for (int i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(r[0].doubles()[i], (i + 1) * std::cos(x.doubles()[i]));
  OpRun mul("elementwise_mul_grad");
  ASSERT_OK_AND_ASSIGN(r, mul.In("X", x).In("Y", Of<double>({1}, {3})).In("Out@GRAD", g).Out("X@GRAD").Out("Y@GRAD").Run());
  EXPECT_THAT(r[0].doubles(), ElementsAre(3, 6, 9));
  EXPECT_THAT(r[1].doubles(), ElementsAre(6));
}

// The sums of fp32 numbers, not of rounded ones, rounded once.
TEST(MapGradient, OfLowTypesIsRoundedOnce) {
  for (const DType low : {DType::kF16, DType::kBF16}) {
    const std::vector<float> values = Random({3000, 5}, 1).floats();
    const Tensor g = Low(low, {3000, 5}, values), x = Low(low, {3000, 5}, values), b = Low(low, {5}, {1, 2, 3, 4, 5});
    const Tensor wide_g = F32({3000, 5}, g.floats()), wide_b = F32({5}, b.floats());
    const auto run = [](const Tensor& x, const Tensor& b, const Tensor& g) {
      return OpRun("elementwise_mul_grad").In("X", x).In("Y", b).In("Out@GRAD", g).Out("X@GRAD").Out("Y@GRAD").Run();
    };
    ASSERT_OK_AND_ASSIGN(const auto narrow, run(x, b, g));
    ASSERT_OK_AND_ASSIGN(const auto wide, run(wide_g, wide_b, wide_g));
    for (int k = 0; k < 2; ++k) {
      const Tensor rounded = Low(low, Shape(wide[k].dims().begin(), wide[k].dims().end()), wide[k].floats());
      EXPECT_TRUE(narrow[k].stored == rounded.stored) << Name(low) << " result " << k;
    }
  }
}

struct BatchNormNeeds {
  std::vector<double> dx, dscale, dbias;
  std::vector<float> mean, inverse;
};

// X as [outer, channels, inner].
BatchNormNeeds BatchNorm(const Tensor& x, const Tensor& g, const Tensor& scale, int64_t channels, int64_t inner) {
  const auto xs = x.stored.values<float>(), gs = g.stored.values<float>();
  const int64_t n = x.stored.num_elements(), count = n / channels;
  BatchNormNeeds need{std::vector<double>(n), std::vector<double>(channels), std::vector<double>(channels), {}, {}};
  for (int64_t c = 0; c < channels; ++c) {
    const auto each = [&](auto f) {
      for (int64_t i = 0; i < n; ++i) {
        if (i / inner % channels == c) f(i);
      }
    };
    double mean = 0, variance = 0, a = 0, b = 0;
    each([&](int64_t i) { mean += xs[i]; });
    mean /= count;
    each([&](int64_t i) { variance += (xs[i] - mean) * (xs[i] - mean) / count; });
    const double inverse = 1 / std::sqrt(variance + 1e-5);
    each([&](int64_t i) {
      a += gs[i];
      b += gs[i] * (xs[i] - mean) * inverse;
    });
    need.dbias[c] = a;
    need.dscale[c] = b;
    const double s = scale.stored.values<float>()[c];
    each([&](int64_t i) { need.dx[i] = s * inverse * (gs[i] - a / count - (xs[i] - mean) * inverse * b / count); });
    need.mean.push_back(static_cast<float>(mean));
    need.inverse.push_back(static_cast<float>(inverse));
  }
  return need;
}

TEST(MapGradient, BatchNormFarFromZero) {
  struct Case {
    Shape dims;
    const char* layout;
    int64_t channels, inner;
  };
  for (const Case& c : {Case{{16, 6, 13, 13}, "NCHW", 6, 169}, Case{{8, 12, 12, 70}, "NHWC", 70, 1}, Case{{3000, 5}, "NCHW", 5, 1}}) {
    const Tensor x = Random(c.dims, 1, 9, 11), g = Random(c.dims, 2), scale = Random({c.channels}, 3, 0.5, 2),
                 bias = Random({c.channels}, 4);
    const BatchNormNeeds need = BatchNorm(x, g, scale, c.channels, c.inner);
    for (const bool saved : {true, false}) {  // else computed again
      OpRun run("batch_norm_grad");
      run.In("X", x).In("Scale", scale).In("Bias", bias);
      if (saved) run.In("SavedMean", F32({c.channels}, need.mean)).In("SavedVariance", F32({c.channels}, need.inverse));
      run.In("Y@GRAD", g).Attr("data_layout", c.layout).Out("X@GRAD").Out("Scale@GRAD").Out("Bias@GRAD");
      ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
      ExpectNear(r[0], need.dx);
      ExpectNear(r[1], need.dscale);
      ExpectNear(r[2], need.dbias);
    }
  }
}

TEST(MapGradient, BatchNormOfChannelsLast) {
  const Tensor x = Random({4, 70, 3, 5}, 1), g = Random({4, 70, 3, 5}, 2), scale = Random({70}, 3, 0.5, 2), bias = Random({70}, 4);
  const BatchNormNeeds need = BatchNorm(x, g, scale, 70, 15);
  OpRun run("batch_norm_grad");
  run.In("X", x).In("Scale", scale).In("Bias", bias).In("SavedMean", F32({70}, need.mean)).In("SavedVariance", F32({70}, need.inverse));
  run.In("Y@GRAD", g).Out("X@GRAD").Out("Scale@GRAD").Out("Bias@GRAD");
  OpRun mixed = run;
  ASSERT_OK_AND_ASSIGN(const auto r, run.ChannelsLast("X").ChannelsLast("Y@GRAD").ChannelsLast("X@GRAD").Run());
  ExpectNear(r[0], need.dx);
  ExpectNear(r[1], need.dscale);
  ExpectNear(r[2], need.dbias);
  EXPECT_FALSE(mixed.ChannelsLast("X").ChannelsLast("X@GRAD").Run().ok());
}

TEST(MapGradient, BatchNormByGivenStatisticsReadsTheRunningOnes) {
  const Tensor x = F32({2, 1, 2}, {1, 2, 3, 4}), g = F32({2, 1, 2}, {1, 0, 0, 2}), one = F32({1}, {2});
  OpRun run("batch_norm_grad");
  run.In("X", x).In("Scale", one).In("Bias", one).In("MeanOut", F32({1}, {1})).In("VarianceOut", F32({1}, {4}));
  run.In("Y@GRAD", g).Attr("use_global_stats", true).Attr("epsilon", 0.0f).Out("X@GRAD").Out("Scale@GRAD").Out("Bias@GRAD");
  ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(r[1].floats(), ElementsAre(3));
  EXPECT_THAT(r[2].floats(), ElementsAre(3));
  OpRun without("batch_norm_grad");
  without.In("X", x).In("Scale", one).In("Bias", one).In("Y@GRAD", g).Attr("use_global_stats", true).Out("X@GRAD");
  EXPECT_THAT(without.Run(), StatusIs(ExitCode::kUnsupported, HasSubstr("MeanOut")));
}

TEST(MapGradient, LayerNormOfManyRows) {
  const int64_t rows = 1500, size = 67;
  const Tensor x = Random({rows, size}, 1, 4, 6), g = Random({rows, size}, 2), scale = Random({size}, 3), bias = Random({size}, 4);
  const auto xs = x.stored.values<float>(), gs = g.stored.values<float>(), ss = scale.stored.values<float>();
  std::vector<double> dx(rows * size), dscale(size), dbias(size);
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0, variance = 0, a = 0, b = 0;
    for (int64_t i = 0; i < size; ++i) mean += xs[r * size + i] / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) variance += (xs[r * size + i] - mean) * (xs[r * size + i] - mean) / size;
    const double inverse = 1 / std::sqrt(variance + 1e-5);
    const auto centred = [&](int64_t i) { return (xs[r * size + i] - mean) * inverse; };
    for (int64_t i = 0; i < size; ++i) {
      a += static_cast<double>(gs[r * size + i]) * ss[i] / size;
      b += static_cast<double>(gs[r * size + i]) * ss[i] * centred(i) / size;
      dscale[i] += gs[r * size + i] * centred(i);
      dbias[i] += gs[r * size + i];
    }
    for (int64_t i = 0; i < size; ++i) dx[r * size + i] = inverse * (static_cast<double>(gs[r * size + i]) * ss[i] - a - centred(i) * b);
  }
  OpRun run("layer_norm_grad");
  run.In("X", x).In("Scale", scale).In("Bias", bias).In("Y@GRAD", g).Out("X@GRAD").Out("Scale@GRAD").Out("Bias@GRAD");
  ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
  ExpectNear(r[0], dx);
  ExpectNear(r[1], dscale);
  ExpectNear(r[2], dbias);
}

TEST(MapGradient, OfALossNeedsALabelThatIsAClass) {
  OpRun run("softmax_with_cross_entropy_grad");
  run.In("Label", I64({2, 1}, {1, 3})).In("Softmax", F32({2, 3}, {0.5, 0.25, 0.25, 1, 0, 0})).In("Loss@GRAD", F32({2, 1}, {1, 1}));
  EXPECT_THAT(run.Out("Logits@GRAD").Run(), StatusIs(ExitCode::kUsage, HasSubstr("label 1 is 3")));
  OpRun ignored("softmax_with_cross_entropy_grad");
  ignored.In("Label", I64({2, 1}, {1, -100})).In("Softmax", F32({2, 3}, {0.5, 0.25, 0.25, 1, 0, 0})).In("Loss@GRAD", F32({2, 1}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(const auto r, ignored.Out("Logits@GRAD").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(1, -1.5f, 0.5f, 0, 0, 0));
}

TEST(MapGradient, DropoutKeepsWhatTheForwardPassKept) {
  const Tensor x = Random({20011}, 1, 1, 2), g = Random({20011}, 2, 1, 2);
  for (const char* how : {"upscale_in_train", "downgrade_in_infer"}) {
    const auto forward = [&](int seed, int own) {
      OpRun run("dropout");
      run.In("X", x).In("Seed", I32({1}, {seed})).Attr("seed", own).Attr("dropout_prob", 0.25f).Attr("dropout_implementation", how);
      return run.Out("Out").Out("Mask").Run();
    };
    ASSERT_OK_AND_ASSIGN(const auto y, forward(7, 1));
    ASSERT_OK_AND_ASSIGN(const auto other, forward(7, 2));
    EXPECT_FALSE(y[1].stored == other[1].stored) << "ops with seeds of their own share a Seed operand";
    OpRun run("dropout_grad");
    run.In("Mask", y[1]).In("Out@GRAD", g).Attr("dropout_prob", 0.25f).Attr("dropout_implementation", how).Out("X@GRAD");
    ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
    const float factor = how == std::string("upscale_in_train") ? static_cast<float>(1 / (1 - 0.25)) : 1.0f;
    for (int i = 0; i < 20011; ++i) {
      const float kept = y[0].stored.values<float>()[i] != 0 ? g.stored.values<float>()[i] * factor : 0.0f;
      ASSERT_EQ(r[0].stored.values<float>()[i], kept) << i;
    }
  }
}

TEST(MapGradient, OfDropoutNeedsTheMask) {
  EXPECT_THAT(OpRun("dropout_grad").In("Out@GRAD", F32({1}, {1})).Out("X@GRAD").Run(), StatusIs(ExitCode::kUnsupported, HasSubstr("Mask")));
}

}  // namespace
}  // namespace ampc::testing
