// pool2d against the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/kernels/layouts.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

struct Case {
  Shape x = {};
  std::vector<int32_t> ksize = {};
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0};
  bool global = false, adaptive = false, exclusive = true, ceil_mode = false;
  std::string padding_algorithm = "EXPLICIT";
  DType dtype = DType::kF32;
};

struct Span {
  int64_t begin, end;   // inside the operand
  int64_t padded_size;  // inside the padded operand
};

std::vector<Span> Spans(const Case& c, int axis) {
  const int64_t in = c.x[2 + axis], s = c.strides[axis];
  std::vector<Span> spans;
  if (c.global || c.adaptive) {
    const int64_t out = c.global ? 1 : c.ksize[axis];
    for (int64_t i = 0; i < out; ++i) {
      const int64_t b = static_cast<int64_t>(std::floor(static_cast<double>(i * in) / static_cast<double>(out)));
      const int64_t e = static_cast<int64_t>(std::ceil(static_cast<double>((i + 1) * in) / static_cast<double>(out)));
      spans.push_back({b, e, e - b});
    }
    return spans;
  }
  const int64_t k = c.ksize[axis];
  int64_t before = 0, after = 0;
  if (c.padding_algorithm == "EXPLICIT") {
    before = c.paddings.size() == 2 ? c.paddings[axis] : c.paddings[2 * axis];
    after = c.paddings.size() == 2 ? c.paddings[axis] : c.paddings[2 * axis + 1];
  } else if (c.padding_algorithm == "SAME") {
    const int64_t total = std::max<int64_t>(((in + s - 1) / s - 1) * s + k - in, 0);
    before = total / 2;
    after = total - before;
  }
  const int64_t room = in + before + after - k;
  const int64_t out = (c.ceil_mode ? (room + s - 1) / s : room / s) + 1;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t b = i * s - before, e = std::min(b + k, in + after);
    spans.push_back({std::max<int64_t>(b, 0), std::min(e, in), e - b});
  }
  return spans;
}

std::vector<double> Reference(const Case& c, bool max, const std::vector<float>& x) {
  const std::vector<Span> rows = Spans(c, 0), cols = Spans(c, 1);
  std::vector<double> out;
  for (int64_t plane = 0; plane < c.x[0] * c.x[1]; ++plane)
    for (const Span& r : rows)
      for (const Span& w : cols) {
        if (r.begin >= r.end || w.begin >= w.end) {  // a window of padding alone, which rounding up the count may give
          out.push_back(max ? -std::numeric_limits<float>::max() : 0);
          continue;
        }
        double best = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t i = r.begin; i < r.end; ++i)
          for (int64_t j = w.begin; j < w.end; ++j) {
            const double v = x[(plane * c.x[2] + i) * c.x[3] + j];
            best = std::isnan(v) || v > best ? v : best;
            sum += v;
          }
        const double count = c.exclusive || c.adaptive || c.global ? static_cast<double>((r.end - r.begin) * (w.end - w.begin))
                                                                   : static_cast<double>(r.padded_size * w.padded_size);
        out.push_back(max ? best : sum / count);
      }
  return out;
}

void Check(const Case& c, const Tensor& given) {
  const Tensor x = Low(c.dtype, c.x, given.floats());
  for (const bool max : {true, false}) {
    for (const bool nhwc : {false, true}) {
      SCOPED_TRACE(::testing::PrintToString(c.x) + " ksize " + ::testing::PrintToString(c.ksize) + (max ? " max" : " avg") +
                   (nhwc ? " NHWC" : ""));
      OpRun run("pool2d");
      run.In("X", nhwc ? ToNhwc(x) : x);
      run.Attr("pooling_type", std::string(max ? "max" : "avg"))
          .Attr("ksize", c.ksize)
          .Attr("strides", c.strides)
          .Attr("paddings", c.paddings);
      run.Attr("global_pooling", c.global).Attr("adaptive", c.adaptive).Attr("exclusive", c.exclusive).Attr("ceil_mode", c.ceil_mode);
      run.Attr("padding_algorithm", c.padding_algorithm).Attr("data_format", std::string(nhwc ? "NHWC" : "NCHW"));
      ASSERT_OK_AND_ASSIGN(const auto results, run.Out("Out").Run());
      const std::vector<float> got = (nhwc ? ToNchw(results[0]) : results[0]).floats();
      const std::vector<double> want = Reference(c, max, x.floats());
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(Near(got[i], want[i], ToleranceFor(c.dtype))) << "element " << i << " is " << got[i] << ", needs " << want[i];
      }
    }
  }
}

void Check(const Case& c) { Check(c, Random(c.x, 1)); }

TEST(Pool2D, MatchesTheDefinition) {
  Check({.x = {1, 1, 1, 1}, .ksize = {1, 1}});
  Check({.x = {2, 3, 8, 10}, .ksize = {2, 2}, .strides = {2, 2}});
  Check({.x = {1, 70, 7, 9}, .ksize = {3, 3}, .strides = {2, 1}, .paddings = {1, 1}});
  Check({.x = {1, 16, 9, 9}, .ksize = {3, 2}, .strides = {1, 2}, .paddings = {1, 0, 0, 1}});
  Check({.x = {1, 2, 4, 1200}, .ksize = {2, 3}, .strides = {2, 2}, .paddings = {0, 1}});
  Check({.x = {1, 2, 3, 700}, .ksize = {3, 300}, .strides = {1, 100}});
  Check({.x = {1, 3, 5, 9000}, .ksize = {3, 5}, .strides = {1, 1}, .paddings = {1, 2}});
  Check({.x = {1, 1500, 4, 9}, .ksize = {3, 3}, .paddings = {1, 1}});
  Check({.x = {1, 4500, 4, 4}, .ksize = {3, 3}, .paddings = {1, 1}});
  Check({.x = {1, 7, 9, 9}, .ksize = {5, 5}, .strides = {3, 3}, .paddings = {2, 2}});
}

TEST(Pool2D, PaddingModes) {
  for (const bool exclusive : {true, false}) {
    for (const bool ceil_mode : {true, false}) {
      Check({.x = {1, 5, 7, 8}, .ksize = {3, 3}, .strides = {2, 2}, .paddings = {1, 1}, .exclusive = exclusive, .ceil_mode = ceil_mode});
      Check({.x = {1, 5, 7, 8},
             .ksize = {3, 2},
             .strides = {2, 3},
             .paddings = {0, 1, 1, 0},
             .exclusive = exclusive,
             .ceil_mode = ceil_mode});
    }
    Check({.x = {1, 5, 7, 8}, .ksize = {3, 4}, .strides = {2, 3}, .exclusive = exclusive, .padding_algorithm = "SAME"});
    Check(
        {.x = {1, 5, 7, 8}, .ksize = {3, 4}, .strides = {2, 3}, .paddings = {1, 1}, .exclusive = exclusive, .padding_algorithm = "VALID"});
  }
}

TEST(Pool2D, GlobalAndAdaptive) {
  Check({.x = {2, 65, 7, 9}, .ksize = {1, 1}, .global = true});
  Check({.x = {1, 3, 1, 40}, .ksize = {5, 5}, .paddings = {2, 2}, .global = true});
  Check({.x = {2, 6, 7, 10}, .ksize = {3, 4}, .adaptive = true});
  Check({.x = {2, 6, 7, 10}, .ksize = {1, 40}, .adaptive = true});
  Check({.x = {1, 8, 16, 16}, .ksize = {1, 1}, .adaptive = true});
}

TEST(Pool2D, LowPrecisionIsTheRoundedResult) {
  for (const DType t : {DType::kF16, DType::kBF16}) {
    Check({.x = {1, 20, 9, 9}, .ksize = {3, 3}, .strides = {2, 2}, .paddings = {1, 1}, .dtype = t});
    Check({.x = {1, 20, 9, 9}, .ksize = {1, 1}, .global = true, .dtype = t});
  }
}

TEST(Pool2D, NonFiniteValues) {
  Tensor x = Random({1, 4, 6, 6}, 1);
  const auto v = x.stored.mutable_values<float>();
  v[3] = std::numeric_limits<float>::infinity();
  v[50] = -v[3];
  v[100] = std::numeric_limits<float>::quiet_NaN();
  for (int i = 108; i < 144; ++i) v[i] = -std::numeric_limits<float>::infinity();
  Check({.x = {1, 4, 6, 6}, .ksize = {3, 3}, .strides = {2, 2}, .paddings = {1, 1}}, x);
  Check({.x = {1, 4, 6, 6}, .ksize = {1, 1}, .global = true}, x);
}

// Every way to walk over windows: sizes that are known to loops and others, channels that fill vectors or do not, values that are no
// numbers.
TEST(Pool2D, GeneratedWindows) {
  std::mt19937 rng(1);
  const auto pick = [&rng](std::vector<int64_t> of) { return of[rng() % of.size()]; };
  for (int round = 0; round < 120; ++round) {
    const int32_t k = static_cast<int32_t>(pick({1, 2, 3, 3, 3, 4, 5})), l = static_cast<int32_t>(pick({k, k, 1, 2, 3}));
    Case c{.x = {pick({1, 2}), pick({5, 8, 16, 17, 33, 70}), l + pick({0, 1, 4, 7}), k + pick({0, 1, 2, 5, 9})}, .ksize = {l, k}};
    c.strides = {static_cast<int32_t>(pick({1, 1, 2, 3})), static_cast<int32_t>(pick({1, 1, 2, 2, 3}))};
    c.paddings = {static_cast<int32_t>(pick({0, l / 2})), static_cast<int32_t>(pick({0, k / 2}))};
    c.exclusive = pick({0, 1}) == 1;
    c.dtype = pick({0, 1}) == 1 ? DType::kBF16 : DType::kF32;
    c.ceil_mode = c.dtype == DType::kF32 && pick({0, 1}) == 1;  // the least float32, of a window of padding alone, is no bf16
    Tensor x = Random(c.x, round + 2);
    const auto v = x.stored.mutable_values<float>();
    const float inf = std::numeric_limits<float>::infinity();
    if (round % 3 == 0) {
      v[rng() % v.size()] = std::numeric_limits<float>::quiet_NaN();
      v[rng() % v.size()] = inf;
      v[rng() % v.size()] = -inf;
    }
    Check(c, x);
    if (HasFatalFailure()) return;
  }
}

// window_pool gives what pool2d gives, in both layouts.
TEST(WindowPool, AsPool2D) {
  Tensor with_nan = Random({1, 70, 9, 11}, 1);
  with_nan.stored.mutable_values<float>()[500] = std::numeric_limits<float>::quiet_NaN();
  for (const Tensor& x : {with_nan, Random({2, 3, 9, 1200}, 2), Random({1, 5000, 4, 4}, 3)}) {
    for (const int32_t stride : {1, 2}) {
      for (const int32_t pad : {0, 1}) {
        for (const bool max : {true, false}) {
          const std::vector<int32_t> ksize = {3, 3}, strides = {stride, stride}, pads = {pad, pad, pad, pad};
          ASSERT_OK_AND_ASSIGN(const auto want, OpRun("pool2d")
                                                    .In("X", x)
                                                    .Attr("pooling_type", std::string(max ? "max" : "avg"))
                                                    .Attr("ksize", ksize)
                                                    .Attr("strides", strides)
                                                    .Attr("paddings", pads)
                                                    .Out("Out")
                                                    .Run());
          for (const int last : {0, 1, 2, 3}) {
            OpRun run("window_pool");
            run.In("X", x)
                .Attr("mode", std::string(max ? "max" : "avg"))
                .Attr("ksize", ksize)
                .Attr("strides", strides)
                .Attr("paddings", pads);
            if ((last & 1) != 0) run.ChannelsLast("X");
            if ((last & 2) != 0) run.ChannelsLast("Out");
            ASSERT_OK_AND_ASSIGN(const auto got, run.Out("Out").Run());
            const std::vector<float> found = got[0].floats(), needed = want[0].floats();
            for (size_t i = 0; i < needed.size(); ++i) {
              ASSERT_TRUE((std::isnan(found[i]) && std::isnan(needed[i])) || Near(found[i], needed[i], ToleranceFor(DType::kF32)))
                  << i << ": " << found[i] << ", needs " << needed[i];
            }
          }
        }
      }
    }
  }
}

// Windows that the fast loops do not have, where channels lie last.
TEST(WindowPool, DilatedChannelsLast) {
  const Tensor x = Random({2, 5, 7, 6}, 1);
  const auto run = [&](bool in, bool out) {
    OpRun op("window_pool");
    op.In("X", x).Attr("mode", std::string("max")).Attr("ksize", std::vector<int32_t>{2, 2}).Attr("dilations", std::vector<int32_t>{2, 2});
    if (in) op.ChannelsLast("X");
    if (out) op.ChannelsLast("Out");
    return (*op.Out("Out").Run())[0].floats();
  };
  for (const bool in : {false, true}) {
    for (const bool out : {false, true}) EXPECT_EQ(run(in, out), run(false, false));
  }
}

TEST(Pool2D, EmptyBatchAndChannels) {
  Check({.x = {0, 3, 4, 4}, .ksize = {2, 2}});
  Check({.x = {2, 0, 4, 4}, .ksize = {1, 1}, .global = true});
}

}  // namespace
}  // namespace ampc::testing
