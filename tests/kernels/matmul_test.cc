// Matrix products against sums in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

Tensor Typed(const Tensor& t, DType dtype) { return Low(dtype, Shape(t.dims().begin(), t.dims().end()), t.floats()); }

struct Case {
  Shape x = {}, y = {};
  bool trans_x = false, trans_y = false;
  DType dtype = DType::kF32;
  bool constant = true;
  float alpha = 1;
};

struct Sum {
  double value = 0, scale = 0;
  void Add(double v) {
    value += v;
    scale += std::abs(v);
  }
};

// Product of the matrices at broadcast position `b` of `batch`.
std::vector<Sum> Reference(const Case& c, const Tensor& x, const Tensor& y) {
  Shape xd = c.x, yd = c.y;
  const bool tx = c.trans_x && xd.size() > 1, ty = c.trans_y && yd.size() > 1;
  if (xd.size() == 1) xd.insert(xd.begin(), 1);
  if (yd.size() == 1) yd.push_back(1);
  const size_t rank = std::max(xd.size(), yd.size());
  xd.insert(xd.begin(), rank - xd.size(), 1);
  yd.insert(yd.begin(), rank - yd.size(), 1);
  const int64_t m = xd[rank - (tx ? 1 : 2)], k = xd[rank - (tx ? 2 : 1)], n = yd[rank - (ty ? 2 : 1)];
  const std::vector<float> xs = x.floats(), ys = y.floats();
  std::vector<Sum> out;
  int64_t batch = 1;
  for (size_t i = 0; i + 2 < rank; ++i) batch *= std::max(xd[i], yd[i]);
  for (int64_t b = 0; b < batch; ++b) {
    int64_t xb = 0, yb = 0;
    for (int64_t rest = b, i = static_cast<int64_t>(rank) - 3, xstep = 1, ystep = 1; i >= 0; --i) {
      const int64_t size = std::max(xd[i], yd[i]), at = rest % size;
      rest /= size;
      if (xd[i] > 1) xb += at * xstep;
      if (yd[i] > 1) yb += at * ystep;
      xstep *= xd[i];
      ystep *= yd[i];
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Sum sum;
        for (int64_t l = 0; l < k; ++l) {
          sum.Add(static_cast<double>(xs[xb * m * k + (tx ? l * m + i : i * k + l)]) * ys[yb * k * n + (ty ? j * k + l : l * n + j)] *
                  c.alpha);
        }
        out.push_back(sum);
      }
  }
  return out;
}

void Compare(const Tensor& got, const std::vector<Sum>& want, DType dtype) {
  const std::vector<float> values = got.floats();
  ASSERT_EQ(values.size(), want.size());
  int wrong = 0;
  for (size_t i = 0; i < values.size() && wrong < 5; ++i) {
    Tolerance tolerance = ToleranceFor(dtype);
    tolerance.abs +=
        std::isfinite(want[i].scale) ? ToleranceFor(DType::kF32).rel * want[i].scale : 0;  // cancellation in a sum of f32 products
    if (!Near(values[i], want[i].value, tolerance)) {
      ++wrong;
      ADD_FAILURE() << "element " << i << " is " << values[i] << ", needs " << want[i].value;
    }
  }
}

void Check(const Case& c, Tensor x) {
  SCOPED_TRACE(::testing::PrintToString(c.x) + " x " + ::testing::PrintToString(c.y) + (c.trans_x ? " trans_x" : "") +
               (c.trans_y ? " trans_y" : "") + " " + std::string(Name(c.dtype)) + (c.constant ? " constant" : ""));
  x = Typed(x, c.dtype);
  const Tensor y = Typed(Random(c.y, 2, -1, 1), c.dtype);
  OpRun run(c.alpha == 1 ? "matmul_v2" : "matmul");
  run.In("X", x);
  c.constant ? run.Const("Y", y) : run.In("Y", y);
  run.Attr(c.alpha == 1 ? "trans_x" : "transpose_X", c.trans_x).Attr(c.alpha == 1 ? "trans_y" : "transpose_Y", c.trans_y);
  if (c.alpha != 1) run.Attr("alpha", c.alpha);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, run.Out("Out").Run());
  Compare(got[0], Reference(c, x, y), c.dtype);
}

void Check(const Case& c) { Check(c, Random(c.x, 1, -1, 1)); }

TEST(Matmul, MatchesTheDefinition) {
  for (const bool constant : {false, true}) {
    Check({.x = {1, 1}, .y = {1, 1}, .constant = constant});
    Check({.x = {5, 7}, .y = {7, 3}, .constant = constant});
    Check({.x = {40, 120}, .y = {120, 365}, .constant = constant});
    Check({.x = {1, 64}, .y = {64, 100}, .constant = constant});
    Check({.x = {100, 64}, .y = {64, 1}, .constant = constant});
    Check({.x = {2, 3, 64, 32}, .y = {32, 16}, .constant = constant});
    Check({.x = {2, 5, 6}, .y = {2, 6, 4}, .constant = constant});
    Check({.x = {2, 500}, .y = {500, 8}, .constant = constant});
    Check({.x = {3, 4096}, .y = {4096, 9}, .constant = constant});
  }
}

TEST(Matmul, TransposedOperands) {
  for (const bool constant : {false, true}) {
    for (const bool tx : {false, true}) {
      for (const bool ty : {false, true}) {
        const auto mk = [](bool t, int64_t a, int64_t b) { return t ? Shape{b, a} : Shape{a, b}; };
        const auto stack = [](Shape lead, const Shape& s) {
          lead.insert(lead.end(), s.begin(), s.end());
          return lead;
        };
        Check({.x = mk(tx, 5, 17), .y = mk(ty, 17, 9), .trans_x = tx, .trans_y = ty, .constant = constant});
        Check({.x = stack({3}, mk(tx, 20, 33)), .y = stack({3}, mk(ty, 33, 24)), .trans_x = tx, .trans_y = ty, .constant = constant});
        Check({.x = stack({2, 3}, mk(tx, 8, 16)), .y = mk(ty, 16, 8), .trans_x = tx, .trans_y = ty, .constant = constant});
        Check({.x = stack({2}, mk(tx, 8, 16)), .y = mk(ty, 16, 8), .trans_x = tx, .trans_y = ty, .constant = constant, .alpha = 0.25f});
      }
    }
  }
}

TEST(Matmul, LeadingDimensionsBroadcast) {
  Check({.x = {2, 1, 4, 5}, .y = {3, 5, 6}});
  Check({.x = {2, 3, 4, 5}, .y = {3, 5, 6}, .constant = false});
  Check({.x = {4, 5}, .y = {3, 5, 6}});
  Check({.x = {1, 4, 5}, .y = {3, 5, 6}, .constant = false});
  Check({.x = {2, 1, 3, 1, 4, 5}, .y = {2, 1, 3, 5, 6}, .constant = false});
  Check({.x = {8, 40, 15}, .y = {8, 15, 40}, .constant = false});
}

TEST(Matmul, Vectors) {
  Check({.x = {7}, .y = {7, 3}});
  Check({.x = {7}, .y = {7}});
  Check({.x = {4, 7}, .y = {7}, .trans_y = true});
  Check({.x = {2, 4, 7}, .y = {7}, .constant = false});
  Check({.x = {7}, .y = {2, 7, 3}, .trans_x = true});
}

// Enough work to be divided, along each side.
TEST(Matmul, LargeProductsDoNotDependOnThreads) {
  for (const bool constant : {false, true}) {
    Check({.x = {200, 300}, .y = {300, 150}, .constant = constant});
    Check({.x = {7, 300}, .y = {300, 2000}, .constant = constant});
    Check({.x = {2000, 64}, .y = {64, 33}, .constant = constant});
    Check({.x = {4000, 40}, .y = {4000, 50}, .trans_x = true, .constant = constant});
    Check({.x = {12, 64, 80}, .y = {12, 50, 80}, .trans_y = true, .constant = constant});
    Check({.x = {5, 1, 64, 80}, .y = {3, 80, 50}, .constant = constant});
    Check({.x = {300, 1536}, .y = {1536, 40}, .dtype = DType::kBF16, .constant = constant});
    Check({.x = {3, 20, 1536}, .y = {3, 1536, 40}, .dtype = DType::kBF16, .constant = constant});
  }
}

TEST(Matmul, LowPrecisionIsTheRoundedSum) {
  for (const DType t : {DType::kF16, DType::kBF16}) {
    for (const bool constant : {false, true}) {
      Check({.x = {33, 64}, .y = {64, 48}, .dtype = t, .constant = constant});
      Check({.x = {4, 33, 64}, .y = {4, 48, 64}, .trans_y = true, .dtype = t, .constant = constant});
      Check({.x = {3, 8}, .y = {8, 5}, .dtype = t, .constant = constant});
    }
  }
}

TEST(Matmul, NonFiniteValuesPassThroughTheSum) {
  for (const DType t : {DType::kF32, DType::kF16, DType::kBF16}) {
    Tensor x = Random({20, 32}, 1, 0.5, 1);
    const auto v = x.stored.mutable_values<float>();
    v[3] = std::numeric_limits<float>::infinity();
    v[70] = -v[3];
    v[200] = std::numeric_limits<float>::quiet_NaN();
    Check({.x = {20, 32}, .y = {32, 24}, .dtype = t}, x);
  }
}

TEST(Matmul, EmptyOperands) {
  Check({.x = {0, 4}, .y = {4, 3}});
  Check({.x = {2, 0}, .y = {0, 3}});
  Check({.x = {2, 4}, .y = {4, 0}});
  Check({.x = {0, 2, 4}, .y = {0, 4, 3}});
}

TEST(Mul, FlattensItsOperands) {
  const Tensor x = Random({2, 3, 4, 5}, 1), y = Random({4, 5, 6, 2}, 2);
  ASSERT_OK_AND_ASSIGN(const auto got,
                       OpRun("mul").In("X", x).Const("Y", y).Attr("x_num_col_dims", 2).Attr("y_num_col_dims", 2).Out("Out").Run());
  EXPECT_EQ(Shape(got[0].dims().begin(), got[0].dims().end()), (Shape{2, 3, 6, 2}));
  Compare(got[0], Reference({.x = {6, 20}, .y = {20, 12}}, x, y), DType::kF32);
}

TEST(Fc, AddsTheBiasAndActivates) {
  const Tensor x = Random({2, 3, 20}, 1), w = Random({20, 7}, 2), bias = Random({7}, 3);
  for (const char* act : {"", "relu"}) {
    ASSERT_OK_AND_ASSIGN(const auto got, OpRun("fc")
                                             .In("Input", x)
                                             .Const("W", w)
                                             .In("Bias", bias)
                                             .Attr("in_num_col_dims", 2)
                                             .Attr("activation_type", std::string(act))
                                             .Out("Out")
                                             .Run());
    std::vector<Sum> want = Reference({.x = {6, 20}, .y = {20, 7}}, x, w);
    for (size_t i = 0; i < want.size(); ++i) {
      want[i].value += bias.floats()[i % 7];
      if (*act != 0) want[i].value = std::max(want[i].value, 0.0);
    }
    Compare(got[0], want, DType::kF32);
  }
}

TEST(Fc, PaddedWeights) {
  const Tensor x = Random({3, 20}, 1), padded = Random({24, 11}, 2);
  Tensor w = Random({20, 7}, 0);
  for (int64_t i = 0; i < 140; ++i) w.stored.mutable_values<float>()[i] = padded.floats()[i / 7 * 11 + i % 7];
  for (const bool constant : {false, true}) {
    OpRun run("fc");
    run.In("Input", x);
    constant ? run.Const("W", padded) : run.In("W", padded);
    ASSERT_OK_AND_ASSIGN(const auto got, run.Attr("padding_weights", true).Out("Out").Run());
    Compare(got[0], Reference({.x = {3, 20}, .y = {20, 7}}, x, w), DType::kF32);
  }
}

TEST(Matmul, ConsumesAConstantOperand) {
  ASSERT_OK_AND_ASSIGN(const auto constant, OpRun("matmul_v2").In("X", Random({2, 3}, 1)).Const("Y", Random({3, 4}, 2)).Out("Out").Make());
  EXPECT_TRUE(constant->consumes(1));
  EXPECT_FALSE(constant->consumes(0));
  ASSERT_OK_AND_ASSIGN(const auto given, OpRun("matmul_v2").In("X", Random({2, 3}, 1)).In("Y", Random({3, 4}, 2)).Out("Out").Make());
  EXPECT_FALSE(given->consumes(1));
}

// A kernel is immutable: threads run it at the same time, each with its own operands.
TEST(Matmul, RunsOnSeveralThreadsAtTheSameTime) {
  const Tensor y = Random({64, 48}, 2);
  ASSERT_OK_AND_ASSIGN(const auto kernel, OpRun("matmul_v2").In("X", Random({16, 64}, 1)).Const("Y", y).Out("Out").Make());
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const Tensor x = Random({16, 64}, static_cast<uint32_t>(10 + t));
      const std::vector<Sum> want = Reference({.x = {16, 64}, .y = {64, 48}}, x, y);
      Tensor out = Random({16, 48}, 0);
      HostTensor workspace = *HostTensor::Create(DType::kU8, {kernel->workspace_bytes()});
      const void* in[] = {x.stored.data(), nullptr};
      for (int repeat = 0; repeat < 50; ++repeat) {
        void* to[] = {out.stored.mutable_data()};
        if (!kernel->Run({in, to, workspace.mutable_data(), 1}).ok()) ++wrong[t];
        for (size_t i = 0; i < want.size(); ++i)
          wrong[t] += Near(out.stored.values<float>()[i], want[i].value, {1e-5, 1e-5 * want[i].scale}) ? 0 : 1;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

}  // namespace
}  // namespace ampc::testing
