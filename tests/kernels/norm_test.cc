// softmax, layer_norm and batch_norm against double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/layouts.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

void Compare(const Tensor& got, const std::vector<double>& want) {
  const std::vector<float> values = got.floats();
  ASSERT_EQ(values.size(), want.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(Near(values[i], want[i], ToleranceFor(got.dtype))) << "element " << i << " is " << values[i] << ", needs " << want[i];
  }
}

int64_t Product(const Shape& dims, size_t first, size_t last) {
  int64_t n = 1;
  for (size_t i = first; i < last; ++i) n *= dims[i];
  return n;
}

void CheckSoftmax(const Tensor& x, int axis) {
  const Shape dims(x.dims().begin(), x.dims().end());
  SCOPED_TRACE(::testing::PrintToString(dims) + " axis " + std::to_string(axis));
  ASSERT_OK_AND_ASSIGN(const auto got, OpRun("softmax").In("X", x).Attr("axis", axis).Out("Out").Run());
  const size_t a = axis < 0 ? axis + dims.size() : axis;
  const int64_t outer = Product(dims, 0, a), size = dims[a], inner = Product(dims, a + 1, dims.size());
  const std::vector<float> xs = x.floats();
  std::vector<double> want(xs.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      const auto at = [&](int64_t k) { return (o * size + k) * inner + i; };
      double max = -kInf, sum = 0;
      for (int64_t k = 0; k < size; ++k) max = std::isnan(xs[at(k)]) || xs[at(k)] > max ? xs[at(k)] : max;
      for (int64_t k = 0; k < size; ++k) sum += want[at(k)] = std::exp(xs[at(k)] - max);
      for (int64_t k = 0; k < size; ++k) want[at(k)] /= sum;
    }
  Compare(got[0], want);
}

TEST(Softmax, AlongAnyAxis) {
  CheckSoftmax(Random({1}, 1), 0);
  CheckSoftmax(Random({3, 1}, 1), 1);
  CheckSoftmax(Random({40, 6625}, 1, -8, 8), -1);
  CheckSoftmax(Random({2, 8, 15, 40}, 2), -1);
  CheckSoftmax(Random({2, 8, 15, 40}, 2), 1);
  CheckSoftmax(Random({300, 7}, 3, -20, 20), 0);
  CheckSoftmax(Random({2, 3, 130}, 4), 1);
  CheckSoftmax(Random({5, 9000}, 5, -1000, 1000), 1);
}

// Rows of every length up to some vectors, with what is not finite at their ends and within.
TEST(Softmax, RowsOfEveryLength) {
  for (int64_t size = 1; size <= 70; ++size) {
    CheckSoftmax(Random({7, size}, static_cast<uint32_t>(size), -20, 20), 1);
    for (const float odd : {-kInf, kInf, std::numeric_limits<float>::quiet_NaN()}) {
      Tensor x = Random({3, size}, static_cast<uint32_t>(size));
      const auto v = x.stored.mutable_values<float>();
      v[0] = v[size + size / 2] = v[3 * size - 1] = odd;
      CheckSoftmax(x, 1);
    }
  }
}

// Of a classifier that is sure of its answer: the largest probability is the float next to the exact quotient, in steps of 2^-24.
TEST(Softmax, ShortRowsNearOne) {
  for (const int64_t size : {2, 3, 8, 15, 16}) {
    Tensor x = Random({64, size}, static_cast<uint32_t>(size));
    const auto v = x.stored.mutable_values<float>();
    for (int64_t row = 0; row < 64; ++row) v[row * size + row % size] += 11 + 0.05f * static_cast<float>(row);
    ASSERT_OK_AND_ASSIGN(const auto got, OpRun("softmax").In("X", x).Attr("axis", 1).Out("Out").Run());
    const std::vector<float> ys = got[0].floats();
    for (int64_t row = 0; row < 64; ++row) {
      const int64_t top = row * size + row % size;
      double rest = 0;
      for (int64_t k = row * size; k < (row + 1) * size; ++k) rest += k == top ? 0 : std::exp(static_cast<double>(v[k]) - v[top]);
      EXPECT_NEAR(ys[top], 1 / (1 + rest), 0x1.02p-25) << size << " " << row;  // half a step, and what exp of the others loses
    }
  }
}

TEST(Softmax, LowPrecisionAndNonFinite) {
  for (const DType t : {DType::kF16, DType::kBF16}) CheckSoftmax(Low(t, {6, 20}, Random({6, 20}, 1).floats()), -1);
  Tensor x = Random({4, 12}, 1);
  const auto v = x.stored.mutable_values<float>();
  v[1] = -kInf;
  v[14] = kInf;
  v[25] = std::numeric_limits<float>::quiet_NaN();
  for (int i = 36; i < 48; ++i) v[i] = -kInf;
  CheckSoftmax(x, 1);
  CheckSoftmax(x, 0);
}

TEST(Softmax, Empty) {
  CheckSoftmax(Random({0, 5}, 1), 1);
  CheckSoftmax(Random({5, 0}, 1), 1);
}

void CheckLayerNorm(const Tensor& x, int begin, bool affine, bool statistics, double epsilon = 1e-5) {
  const Shape dims(x.dims().begin(), x.dims().end());
  SCOPED_TRACE(::testing::PrintToString(dims) + " from " + std::to_string(begin) + (affine ? " affine" : ""));
  const int64_t rows = Product(dims, 0, begin), size = Product(dims, begin, dims.size());
  const Tensor scale = Random({size}, 7), bias = Random({size}, 8);
  OpRun run("layer_norm");
  run.In("X", x);
  if (affine) run.In("Scale", scale).In("Bias", bias);
  run.Attr("begin_norm_axis", begin).Attr("epsilon", static_cast<float>(epsilon)).Out("Y");
  if (statistics) run.Out("Mean").Out("Variance");
  ASSERT_OK_AND_ASSIGN(const auto got, run.Run());
  std::vector<double> y, means, variances;
  const std::vector<float> xs = x.floats(), ss = scale.floats(), bs = bias.floats();
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = xs.data() + r * size;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < size; ++i) mean += row[i] / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i)
      y.push_back((row[i] - mean) / std::sqrt(variance + epsilon) * (affine ? ss[i] : 1) + (affine ? bs[i] : 0));
    means.push_back(mean);
    variances.push_back(variance);
  }
  Compare(got[0], y);
  if (statistics) {
    Compare(got[1], means);
    Compare(got[2], variances);
  }
}

TEST(LayerNorm, MatchesTheDefinition) {
  for (const bool affine : {false, true}) {
    CheckLayerNorm(Random({1, 1}, 1), 1, affine, true);
    CheckLayerNorm(Random({40, 120}, 1), 1, affine, true);
    CheckLayerNorm(Random({2, 3, 5, 7}, 2, 90, 110), 2, affine, true);
    CheckLayerNorm(Random({2, 128, 384}, 3), 2, affine, false);
    CheckLayerNorm(Random({3, 5000}, 4), 1, affine, true);
    CheckLayerNorm(Random({3, 17}, 5), 1, affine, true, 0.5);
  }
  CheckLayerNorm(Random({0, 4}, 1), 1, true, true);
}

TEST(LayerNorm, LowPrecisionHasFloatStatistics) {
  for (const DType t : {DType::kF16, DType::kBF16}) CheckLayerNorm(Low(t, {8, 64}, Random({8, 64}, 1).floats()), 1, true, true);
}

TEST(LayerNorm, NonFiniteRowsStayAlone) {
  Tensor x = Random({4, 20}, 1);
  x.stored.mutable_values<float>()[3] = kInf;
  x.stored.mutable_values<float>()[30] = std::numeric_limits<float>::quiet_NaN();
  CheckLayerNorm(x, 1, true, true);
}

struct BatchNormCase {
  Shape x = {};
  bool is_test = true, global = false, nhwc = false;
  DType dtype = DType::kF32;
};

void CheckBatchNorm(const BatchNormCase& c) {
  SCOPED_TRACE(::testing::PrintToString(c.x) + (c.is_test ? " test" : "") + (c.global ? " global" : "") + (c.nhwc ? " NHWC" : ""));
  const double epsilon = 1e-3f, momentum = 0.8f;
  const int64_t channels = c.x[1], spatial = Product(c.x, 2, c.x.size());
  const Tensor x = Low(c.dtype, c.x, Random(c.x, 1, -1, 3).floats());
  const Tensor scale = Random({channels}, 2), bias = Random({channels}, 3), mean = Random({channels}, 4),
               variance = Random({channels}, 5, 0.1f, 2);
  OpRun run("batch_norm");
  run.In("X", c.nhwc ? ToNhwc(x) : x).In("Scale", scale).In("Bias", bias).In("Mean", mean).In("Variance", variance);
  run.Attr("is_test", c.is_test).Attr("use_global_stats", c.global).Attr("epsilon", 1e-3f).Attr("momentum", 0.8f);
  if (c.nhwc) run.Attr("data_layout", std::string("NHWC"));
  run.Out("Y").Out("MeanOut").Out("VarianceOut").Out("SavedMean").Out("SavedVariance");
  ASSERT_OK_AND_ASSIGN(const auto got, run.Run());
  const std::vector<float> xs = x.floats();
  std::vector<double> y(xs.size()), mean_out, variance_out, saved_mean, saved_variance;
  const bool training = !c.is_test && !c.global;
  for (int64_t ch = 0; ch < channels; ++ch) {
    double m = 0, v = 0;
    const double count = static_cast<double>(c.x[0] * spatial);
    const auto each = [&](auto f) {
      for (int64_t n = 0; n < c.x[0]; ++n)
        for (int64_t i = 0; i < spatial; ++i) f((n * channels + ch) * spatial + i);
    };
    each([&](int64_t i) { m += xs[i] / count; });
    each([&](int64_t i) { v += (xs[i] - m) * (xs[i] - m) / count; });
    mean_out.push_back(training ? mean.floats()[ch] * momentum + m * (1 - momentum) : mean.floats()[ch]);
    variance_out.push_back(training ? variance.floats()[ch] * momentum + v * (1 - momentum) : variance.floats()[ch]);
    if (!training) {
      m = mean.floats()[ch];
      v = variance.floats()[ch];
    }
    saved_mean.push_back(m);
    saved_variance.push_back(1 / std::sqrt(v + epsilon));
    each([&](int64_t i) { y[i] = (xs[i] - m) / std::sqrt(v + epsilon) * scale.floats()[ch] + bias.floats()[ch]; });
  }
  Compare(c.nhwc ? ToNchw(got[0]) : got[0], y);
  Compare(got[1], mean_out);
  Compare(got[2], variance_out);
  Compare(got[3], saved_mean);
  Compare(got[4], saved_variance);
}

TEST(BatchNorm, ByGivenStatistics) {
  CheckBatchNorm({.x = {2, 3, 5, 7}});
  CheckBatchNorm({.x = {1, 70, 6, 6}, .nhwc = true});
  CheckBatchNorm({.x = {9, 5}});
  CheckBatchNorm({.x = {2, 3, 4, 5, 6}});
  CheckBatchNorm({.x = {2, 3, 5, 7}, .is_test = false, .global = true});
  CheckBatchNorm({.x = {0, 3, 5, 7}});
}

TEST(BatchNorm, ByTheBatch) {
  CheckBatchNorm({.x = {4, 3, 5, 7}, .is_test = false});
  CheckBatchNorm({.x = {2, 70, 6, 6}, .is_test = false, .nhwc = true});
  CheckBatchNorm({.x = {65, 5}, .is_test = false});
  CheckBatchNorm({.x = {1, 3, 1, 2}, .is_test = false});
  CheckBatchNorm({.x = {1, 2, 90, 90}, .is_test = false});
}

TEST(BatchNorm, LowPrecisionHasFloatStatistics) {
  for (const DType t : {DType::kF16, DType::kBF16}) {
    CheckBatchNorm({.x = {4, 3, 5, 7}, .dtype = t});
    CheckBatchNorm({.x = {4, 3, 5, 7}, .is_test = false, .dtype = t});
  }
}

}  // namespace
}  // namespace ampc::testing
