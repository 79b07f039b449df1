// Gradient kernels on tensors large enough that several threads share them: OpRun compares one thread with three, bit for bit. Their
// results are compared with difference quotients in tests/autodiff.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using Ints = std::vector<int32_t>;

Tensor Indexes(const Shape& dims, int64_t below) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i * 7919 % below);
  return I64(dims, values);
}

// Every result is finite and not all zero.
void ExpectValues(const absl::StatusOr<std::vector<Tensor>>& results) {
  ASSERT_OK(results);
  for (const Tensor& result : *results) {
    double sum = 0;
    for (float v : result.floats()) sum += std::abs(static_cast<double>(v));
    EXPECT_TRUE(std::isfinite(sum));
    EXPECT_GT(sum, 0);
  }
}

struct ConvCase {
  std::string op;
  Shape x, w, y;
  Ints strides, paddings;
  int32_t groups = 1;
};

TEST(Gradient, ConvolutionsDoNotDependOnThreads) {
  const ConvCase cases[] = {
      {"conv2d", {64, 1, 28, 28}, {6, 1, 3, 3}, {64, 6, 26, 26}, {1, 1}, {0, 0}},
      {"conv2d", {7, 64, 14, 14}, {64, 64, 3, 3}, {7, 64, 14, 14}, {1, 1}, {1, 1}},
      {"conv2d", {5, 128, 9, 9}, {160, 128, 3, 3}, {5, 160, 5, 5}, {2, 2}, {1, 1}},
      {"conv2d", {9, 32, 8, 8}, {64, 32, 1, 1}, {9, 64, 4, 4}, {2, 2}, {0, 0}},
      {"conv2d", {8, 32, 12, 12}, {64, 16, 3, 3}, {8, 64, 12, 12}, {1, 1}, {1, 1}, 2},
      {"depthwise_conv2d", {8, 64, 20, 20}, {64, 1, 3, 3}, {8, 64, 20, 20}, {1, 1}, {1, 1}, 64},
      {"conv2d_transpose", {6, 32, 8, 8}, {32, 24, 3, 3}, {6, 24, 15, 15}, {2, 2}, {1, 1}},
      {"conv3d", {4, 16, 6, 8, 8}, {24, 16, 3, 3, 3}, {4, 24, 6, 8, 8}, {1, 1, 1}, {1, 1, 1}},
      {"conv3d_transpose", {4, 16, 4, 5, 5}, {16, 12, 3, 3, 3}, {4, 12, 6, 7, 7}, {1, 1, 1}, {0, 0, 0}},
  };
  for (const ConvCase& c : cases) {
    SCOPED_TRACE(c.op);
    ExpectValues(OpRun(c.op + "_grad")
                     .In("Input", Random(c.x, 1))
                     .In("Filter", Random(c.w, 2))
                     .In("Output@GRAD", Random(c.y, 3))
                     .Attr("strides", c.strides)
                     .Attr("paddings", c.paddings)
                     .Attr("groups", c.groups)
                     .Out("Input@GRAD")
                     .Out("Filter@GRAD")
                     .Run());
  }
}

TEST(Gradient, ConvolutionsTakeChannelsLast) {
  for (const char* op : {"conv2d", "conv2d_transpose"}) {
    const bool transposed = std::string(op) == "conv2d_transpose";
    const auto run = [&](const std::vector<std::string>& last) {
      OpRun r(absl::StrCat(op, "_grad"));
      r.In("Input", Random({3, 8, 7, 6}, 1)).In("Filter", Random(transposed ? Shape{8, 5, 3, 3} : Shape{5, 8, 3, 3}, 2));
      r.In("Output@GRAD", Random(transposed ? Shape{3, 5, 9, 8} : Shape{3, 5, 5, 4}, 3)).Out("Input@GRAD").Out("Filter@GRAD");
      for (const std::string& slot : last) r.ChannelsLast(slot);
      return r.Run();
    };
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> plain, run({}));
    for (const std::vector<std::string>& last :
         {std::vector<std::string>{"Input"}, {"Output@GRAD"}, {"Input@GRAD"}, {"Input", "Output@GRAD", "Input@GRAD"}}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, run(last));
      EXPECT_EQ(out[0].floats(), plain[0].floats()) << op;
      EXPECT_EQ(out[1].floats(), plain[1].floats()) << op;
    }
  }
}

TEST(Gradient, PoolingDoesNotDependOnThreads) {
  for (const bool max : {true, false}) {
    const Tensor x = Random({16, 24, 26, 26}, 1);
    const auto attrs = [max](OpRun run) {
      return run.Attr("ksize", Ints{3, 3}).Attr("strides", Ints{2, 2}).Attr("pooling_type", std::string(max ? "max" : "avg"));
    };
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, attrs(OpRun("pool2d").In("X", x)).Out("Out").Run());
    ExpectValues(attrs(OpRun("pool2d_grad").In("X", x).In("Out", y[0]).In("Out@GRAD", Random({16, 24, 12, 12}, 3))).Out("X@GRAD").Run());
  }
}

TEST(Gradient, TheFirstOfSeveralLargestValuesGetsAll) {
  for (const std::string format : {"NCHW", "NHWC"}) {
    const auto run = [&](int32_t size, int32_t stride, int64_t channels) {
      const bool last = format == "NHWC";
      const auto shape = [&](int64_t side) { return last ? Shape{1, side, side, channels} : Shape{1, channels, side, side}; };
      std::vector<float> gradient;
      for (int64_t i = 0; i < 4 * channels; ++i) gradient.push_back(static_cast<float>(last ? i / channels + 1 : i % 4 + 1));
      return OpRun("pool2d_grad")
          .In("X", F32(shape(4), std::vector<float>(16 * channels)))
          .In("Out", F32(shape(2), std::vector<float>(4 * channels)))
          .In("Out@GRAD", F32(shape(2), gradient))
          .Attr("ksize", Ints{size, size})
          .Attr("strides", Ints{stride, stride})
          .Attr("pooling_type", std::string("max"))
          .Attr("data_format", format)
          .Out("X@GRAD")
          .Run();
    };
    for (const int64_t channels : {1, 3}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> apart, run(2, 2, channels));
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> overlapping, run(3, 1, channels));
      for (int64_t i = 0; i < 16 * channels; ++i) {
        const int64_t position = format == "NHWC" ? i / channels : i % 16, y = position / 4, x = position % 4;
        EXPECT_EQ(apart[0].floats()[i], y % 2 == 0 && x % 2 == 0 ? static_cast<float>(y + x / 2 + 1) : 0.0f) << i;
        EXPECT_EQ(overlapping[0].floats()[i], y < 2 && x < 2 ? static_cast<float>(y * 2 + x + 1) : 0.0f) << i;
      }
    }
  }
}

TEST(Gradient, PoolingTakesChannelsLast) {
  for (const bool max : {true, false}) {
    const Tensor x = Random({3, 70, 7, 6}, 1);
    const auto run = [max](OpRun r) {
      return r.Attr("ksize", Ints{3, 2}).Attr("strides", Ints{2, 1}).Attr("pooling_type", std::string(max ? "max" : "avg")).Run();
    };
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, run(OpRun("pool2d").In("X", x).Out("Out")));
    OpRun gradient("pool2d_grad");
    gradient.In("X", x).In("Out", y[0]).In("Out@GRAD", Random({3, 70, 3, 5}, 3)).Out("X@GRAD");
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> plain, run(gradient));
    for (const std::vector<std::string>& last :
         {std::vector<std::string>{"X"}, {"Out", "Out@GRAD"}, {"X@GRAD"}, {"X", "X@GRAD"}, {"X", "Out", "Out@GRAD", "X@GRAD"}}) {
      OpRun r = gradient;
      for (const std::string& slot : last) r.ChannelsLast(slot);
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, run(r));
      EXPECT_EQ(out[0].floats(), plain[0].floats());
    }
  }
}

struct ProductCase {
  Shape x, y, z;
  bool trans_x = false, trans_y = false;
};

TEST(Gradient, ProductsDoNotDependOnThreads) {
  const ProductCase cases[] = {
      {{512, 1100}, {1100, 1000}, {512, 1000}},
      {{300, 2500}, {2500, 400}, {300, 400}},
      {{4, 64, 300}, {300, 512}, {4, 64, 512}},
      {{300, 256}, {300, 512}, {256, 512}, true, false},
      {{256, 300}, {512, 300}, {256, 512}, false, true},
      {{300, 256}, {512, 300}, {256, 512}, true, true},
      {{8, 64, 100}, {8, 100, 80}, {8, 64, 80}},
      {{6, 1, 64, 50}, {1, 5, 50, 40}, {6, 5, 64, 40}},
      {{3000, 200}, {200, 300}, {3000, 300}},
  };
  for (const ProductCase& c : cases) {
    ExpectValues(OpRun("matmul_v2_grad")
                     .In("X", Random(c.x, 1))
                     .In("Y", Random(c.y, 2))
                     .In("Out@GRAD", Random(c.z, 3))
                     .Attr("trans_x", c.trans_x)
                     .Attr("trans_y", c.trans_y)
                     .Out("X@GRAD")
                     .Out("Y@GRAD")
                     .Run());
  }
}

TEST(Gradient, AddmmSumsWhatRepeats) {
  ExpectValues(OpRun("addmm_grad")
                   .In("Input", Random({1, 300}, 1))
                   .In("X", Random({200, 100}, 2))
                   .In("Y", Random({100, 300}, 3))
                   .In("Out@GRAD", Random({200, 300}, 4))
                   .Attr("Beta", 0.5f)
                   .Out("Input@GRAD")
                   .Out("X@GRAD")
                   .Out("Y@GRAD")
                   .Run());
}

TEST(Gradient, LookupsDoNotDependOnThreads) {
  ExpectValues(OpRun("lookup_table_v2_grad")
                   .In("W", Random({5000, 64}, 1))
                   .In("Ids", Indexes({40, 100}, 5000))
                   .In("Out@GRAD", Random({40, 100, 64}, 2))
                   .Out("W@GRAD")
                   .Run());
  ExpectValues(OpRun("gather_grad")
                   .In("X", Random({30, 50, 40}, 1))
                   .In("Index", Indexes({70}, 50))
                   .In("Out@GRAD", Random({30, 70, 40}, 2))
                   .Attr("axis", 1)
                   .Out("X@GRAD")
                   .Run());
  ExpectValues(OpRun("gather_nd_grad")
                   .In("X", Random({60, 70, 9}, 1))
                   .In("Index", Indexes({5000, 2}, 60))
                   .In("Out@GRAD", Random({5000, 9}, 2))
                   .Out("X@GRAD")
                   .Run());
  ExpectValues(OpRun("scatter_grad")
                   .In("Ids", Indexes({3000}, 1000))
                   .In("Updates", Random({3000, 40}, 1))
                   .In("Out@GRAD", Random({1000, 40}, 2))
                   .Attr("overwrite", false)
                   .Out("Updates@GRAD")
                   .Run());
  ExpectValues(OpRun("take_along_axis_grad")
                   .In("Input", Random({20, 60, 70}, 1))
                   .In("Index", Indexes({20, 50, 70}, 60))
                   .In("Result@GRAD", Random({20, 50, 70}, 2))
                   .Attr("Axis", 1)
                   .Out("Input@GRAD")
                   .Run());
}

// Every operand named out of range is an error that says where.
TEST(Gradient, BadIndexesAreErrors) {
  const auto lookup = [](int64_t id) {
    return OpRun("lookup_table_v2_grad")
        .In("W", Random({5, 2}, 1))
        .In("Ids", I64({1}, {id}))
        .In("Out@GRAD", Random({1, 2}, 2))
        .Out("W@GRAD")
        .Run();
  };
  EXPECT_OK(lookup(4));
  EXPECT_FALSE(lookup(5).ok());
  EXPECT_FALSE(lookup(-2).ok());
}

TEST(Gradient, RepeatsDoNotDependOnThreads) {
  ExpectValues(OpRun("expand_v2_grad")
                   .In("X", Random({1, 300, 1}, 1))
                   .In("Out@GRAD", Random({40, 300, 70}, 2))
                   .Attr("shape", Ints{40, 300, 70})
                   .Out("X@GRAD")
                   .Run());
  ExpectValues(OpRun("tile_grad")
                   .In("X", Random({30, 400}, 1))
                   .In("Out@GRAD", Random({90, 1600}, 2))
                   .Attr("repeat_times", Ints{3, 4})
                   .Out("X@GRAD")
                   .Run());
}

TEST(Gradient, ResizingDoesNotDependOnThreads) {
  ExpectValues(OpRun("bilinear_interp_v2_grad")
                   .In("X", Random({4, 16, 20, 20}, 1))
                   .In("Out@GRAD", Random({4, 16, 40, 50}, 2))
                   .Attr("out_h", 40)
                   .Attr("out_w", 50)
                   .Out("X@GRAD")
                   .Run());
  ExpectValues(OpRun("grid_sampler_grad")
                   .In("X", Random({3, 40, 20, 20}, 1))
                   .In("Grid", Random({3, 30, 30, 2}, 2, -1.2f, 1.2f))
                   .In("Output@GRAD", Random({3, 40, 30, 30}, 3))
                   .Out("X@GRAD")
                   .Out("Grid@GRAD")
                   .Run());
  ExpectValues(OpRun("pad3d_grad")
                   .In("X", Random({2, 8, 10, 20, 20}, 1))
                   .In("Out@GRAD", Random({2, 8, 12, 26, 24}, 2))
                   .Attr("paddings", Ints{1, 3, 2, 4, 0, 2})
                   .Attr("mode", std::string("reflect"))
                   .Out("X@GRAD")
                   .Run());
}

TEST(Gradient, RecurrenceDoesNotDependOnThreads) {
  for (const std::string mode : {"LSTM", "GRU", "RNN_TANH", "RNN_RELU"}) {
    SCOPED_TRACE(mode);
    const int64_t gates = mode == "LSTM" ? 4 : mode == "GRU" ? 3 : 1, hidden = 64;
    OpRun run("rnn_grad");
    run.In("Input", Random({9, 70, 28}, 1));
    for (int i = 0; i < (mode == "LSTM" ? 2 : 1); ++i) run.In("PreState", Random({2, 70, hidden}, 2 + i));
    for (int i = 0; i < 2; ++i) {
      run.In("WeightList", Random({gates * hidden, 28}, 4 + i, -0.2f, 0.2f))
          .In("WeightList", Random({gates * hidden, hidden}, 6 + i, -0.2f, 0.2f));
    }
    for (int i = 0; i < 4; ++i) run.In("WeightList", Random({gates * hidden}, 8 + i, -0.2f, 0.2f));
    run.In("Out", Random({9, 70, 2 * hidden}, 12)).In("Out@GRAD", Random({9, 70, 2 * hidden}, 13));
    for (int i = 0; i < (mode == "LSTM" ? 2 : 1); ++i) run.In("State@GRAD", Random({2, 70, hidden}, 14 + i));
    run.Attr("mode", mode).Attr("hidden_size", static_cast<int32_t>(hidden)).Attr("is_bidirec", true).Attr("is_test", true);
    ExpectValues(run.Out("Input@GRAD").Out("PreState@GRAD", mode == "LSTM" ? 2 : 1).Out("WeightList@GRAD", 8).Run());
  }
}

}  // namespace
}  // namespace ampc::testing
