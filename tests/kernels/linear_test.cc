// fused_gemm_epilogue and its gradient against double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

struct Sizes {
  int64_t m = 1, k = 1, n = 1;
  bool trans_x = false, trans_y = false;
  friend void PrintTo(const Sizes& s, std::ostream* out) {
    *out << s.m << "x" << s.k << "x" << s.n << (s.trans_x ? " tx" : "") << (s.trans_y ? " ty" : "");
  }
  Shape x() const { return trans_x ? Shape{k, m} : Shape{m, k}; }
  Shape y() const { return trans_y ? Shape{n, k} : Shape{k, n}; }
  int64_t AtX(int64_t r, int64_t p) const { return trans_x ? p * m + r : r * k + p; }
  int64_t AtY(int64_t p, int64_t c) const { return trans_y ? c * k + p : p * n + c; }
};

const std::vector<Sizes> kSizes = {
    {1, 1, 1}, {5, 7, 3}, {4, 9, 130, true, false}, {33, 20, 128, false, true}, {6, 3, 8, true, true}, {700, 12, 40}, {0, 3, 4},
    {3, 0, 4}, {3, 4, 0}};

double Gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
double GeluSlope(double x) { return (Gelu(x + 1e-5) - Gelu(x - 1e-5)) / 2e-5; }

void Compare(const Tensor& got, const std::vector<double>& want, DType dtype = DType::kF32) {
  const std::vector<float> values = got.floats();
  ASSERT_EQ(values.size(), want.size());
  double largest = 0;
  for (double v : want) largest = std::max(largest, std::abs(v));
  const Tolerance t = ToleranceFor(dtype);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(Near(values[i], want[i], {t.rel, std::max(t.abs, t.rel * largest)}))
        << "element " << i << " is " << values[i] << ", needs " << want[i];
  }
}

OpRun Linear(const Sizes& s, const Tensor& x, const Tensor& y, const Tensor& bias) {
  OpRun run("fused_gemm_epilogue");
  run.In("X", x).In("Y", y).In("Bias", bias).Attr("trans_x", s.trans_x).Attr("trans_y", s.trans_y);
  return run;
}

std::vector<double> BeforeActivation(const Sizes& s, const Tensor& x, const Tensor& y, const Tensor& bias) {
  const std::vector<float> a = x.floats(), b = y.floats();
  std::vector<double> out;
  for (int64_t r = 0; r < s.m; ++r) {
    for (int64_t c = 0; c < s.n; ++c) {
      double sum = bias.floats()[c];
      for (int64_t p = 0; p < s.k; ++p) sum += static_cast<double>(a[s.AtX(r, p)]) * b[s.AtY(p, c)];
      out.push_back(sum);
    }
  }
  return out;
}

bool Bit(const Tensor& mask, int64_t row, int64_t column) {
  return (mask.As<uint8_t>()[row * mask.dims().back() + column / 8] >> (column % 8) & 1) != 0;
}

TEST(Linear, AddsTheBiasAndActivates) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(::testing::PrintToString(s));
    const Tensor x = Random(s.x(), 1), y = Random(s.y(), 2), bias = Random({s.n}, 3);
    std::vector<double> want = BeforeActivation(s, x, y, bias);
    ASSERT_OK_AND_ASSIGN(const auto none, Linear(s, x, y, bias).Out("Out").Run());
    Compare(none[0], want);
    ASSERT_OK_AND_ASSIGN(const auto gelu,
                         Linear(s, x, y, bias).Attr("activation", std::string("gelu")).Out("Out").Out("ReserveSpace").Run());
    Compare(gelu[1], want);
    ASSERT_OK_AND_ASSIGN(const auto relu,
                         Linear(s, x, y, bias).Attr("activation", std::string("relu")).Out("Out").Out("ReserveSpace").Run());
    ASSERT_OK_AND_ASSIGN(const auto alone, Linear(s, x, y, bias).Attr("activation", std::string("relu")).Out("Out").Run());
    EXPECT_EQ(alone[0].floats(), relu[0].floats());
    EXPECT_EQ(relu[1].dims().back(), (s.n + 127) / 128 * 16);
    for (int64_t r = 0; r < s.m; ++r) {
      for (int64_t c = 0; c < relu[1].dims().back() * 8; ++c)
        ASSERT_EQ(Bit(relu[1], r, c), c < s.n && relu[0].floats()[r * s.n + c] > 0) << r << " " << c;
    }
    std::vector<double> active = want;
    for (double& v : active) v = Gelu(v);
    Compare(gelu[0], active);
    for (double& v : want) v = std::max(v, 0.0);
    Compare(relu[0], want);
  }
}

// Neither the product nor its sum with the bias is rounded: 2048 + 1 is no f16 value.
TEST(Linear, RoundsBehindTheActivation) {
  for (const char* activation : {"none", "relu"}) {
    // 256 + 1 is no bf16 value.
    ASSERT_OK_AND_ASSIGN(const auto bf16, OpRun("fused_gemm_epilogue")
                                              .In("X", Low(DType::kBF16, {1, 2}, {256, 1}))
                                              .In("Y", Low(DType::kBF16, {2, 1}, {1, 1}))
                                              .In("Bias", Low(DType::kBF16, {1}, {1}))
                                              .Attr("activation", std::string(activation))
                                              .Out("Out")
                                              .Run());
    EXPECT_EQ(bf16[0].floats()[0], 258) << activation;
    const auto run = OpRun("fused_gemm_epilogue")
                         .In("X", Low(DType::kF16, {1, 2}, {2048, 1}))
                         .In("Y", Low(DType::kF16, {2, 1}, {1, 1}))
                         .In("Bias", Low(DType::kF16, {1}, {1}))
                         .Attr("activation", std::string(activation))
                         .Out("Out")
                         .Run();
    ASSERT_OK(run.status());
    EXPECT_EQ((*run)[0].floats()[0], 2050) << activation;
  }
}

// The function's operand as ReserveSpace holds it, and its derivative there.
struct Front {
  std::optional<Tensor> reserve;
  std::vector<double> slopes;
};

Tensor As(DType dtype, const Tensor& t) {
  return dtype == DType::kF32 ? t : Low(dtype, Shape(t.dims().begin(), t.dims().end()), t.floats());
}

Front MakeFront(const std::string& function, const Shape& dims, DType dtype) {
  const Tensor before = As(dtype, Random(dims, 4));
  const int64_t cols = dims.back(), bytes = (cols + 127) / 128 * 16;
  Front front;
  std::vector<uint8_t> mask(static_cast<size_t>(dims[0] * bytes));
  for (int64_t i = 0; i < dims[0] * cols; ++i) {
    const double v = before.floats()[i];
    front.slopes.push_back(function == "none" ? 1 : function == "gelu" ? GeluSlope(v) : v > 0 ? 1 : 0);
    if (v > 0) mask[i / cols * bytes + i % cols / 8] |= static_cast<uint8_t>(1 << (i % cols % 8));
  }
  if (function == "relu") front.reserve = Of<uint8_t>({dims[0], bytes}, mask);
  if (function == "gelu") front.reserve = before;
  return front;
}

void CheckGradient(const Sizes& s, const std::string& function, DType dtype) {
  SCOPED_TRACE(::testing::PrintToString(s) + " " + function + " " + std::string(Name(dtype)));
  const Tensor x = As(dtype, Random(s.x(), 1)), y = As(dtype, Random(s.y(), 2)), gradient = As(dtype, Random({s.m, s.n}, 3));
  const Front front = MakeFront(function, s.x(), dtype);
  OpRun run("fused_gemm_epilogue_grad");
  run.In("DOut", gradient).In("X", x).In("Y", y).Attr("trans_x", s.trans_x).Attr("trans_y", s.trans_y);
  if (front.reserve.has_value()) run.In("ReserveSpace", *front.reserve).Attr("activation_grad", function + "_grad");
  ASSERT_OK_AND_ASSIGN(const auto got, run.Out("DX").Out("DY").Out("DBias").Run());
  const std::vector<float> a = x.floats(), b = y.floats(), g = gradient.floats();
  std::vector<double> dx(a.size(), 0.0), dy(b.size(), 0.0), bias(static_cast<size_t>(s.n), 0.0);
  for (int64_t r = 0; r < s.m; ++r) {
    for (int64_t c = 0; c < s.n; ++c) {
      const double of = g[r * s.n + c];
      bias[c] += of;
      for (int64_t p = 0; p < s.k; ++p) {
        dx[s.AtX(r, p)] += of * b[s.AtY(p, c)];
        dy[s.AtY(p, c)] += of * a[s.AtX(r, p)];
      }
    }
  }
  for (size_t i = 0; i < dx.size(); ++i) dx[i] *= front.slopes[i];
  Compare(got[0], dx, dtype);
  Compare(got[1], dy, dtype);
  Compare(got[2], bias, dtype);
}

TEST(Linear, Gradient) {
  for (const Sizes& s : kSizes) {
    for (const char* function : {"none", "relu", "gelu"}) {
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) CheckGradient(s, function, dtype);
    }
  }
}

}  // namespace
}  // namespace ampc::testing
