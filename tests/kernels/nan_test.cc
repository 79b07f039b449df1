// Ops from which NaN comes out: a table by kind. No path on the CPU (lengths, threads, layouts, types) loses one, or makes more of it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "graph/op_registry.h"
#include "kernels/kernel_registry.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Ramp(int64_t n) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>((i * 5) % 11) / 16 + 0.125f;
  return values;
}
std::vector<float> With(std::vector<float> values, size_t at) {
  values[at] = kNaN;
  return values;
}

// `marked` is `plain` but for NaN where `expected` says so.
void ExpectNaN(const std::vector<float>& plain, const std::vector<float>& marked, const std::function<bool(size_t)>& expected,
               const std::string& what) {
  ASSERT_EQ(plain.size(), marked.size()) << what;
  for (size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(std::isnan(marked[i]), expected(i)) << what << " at " << i << ": " << marked[i];
    if (!expected(i)) {
      ASSERT_EQ(marked[i], plain[i]) << what << " at " << i;
    }
  }
}

std::string At(const std::string& op, int64_t n, size_t at, DType dtype) {
  return op + " n=" + std::to_string(n) + " nan=" + std::to_string(at) + " " + std::string(Name(dtype));
}

// Maps whose results do not depend on their operand's values.
const std::set<std::string>& Constant() {
  static const auto* ops =
      new std::set<std::string>{"ceil_grad", "floor_grad", "round_grad", "trunc_grad", "fill_zeros_like", "fill_any_like"};
  return *ops;
}

TEST(NaN, MapsKeepItInItsPlace) {
  int checked = 0;
  for (const KernelEntry* entry : CpuKernels().All()) {
    const OpDef* def = Ops().Find(entry->op);
    if (def == nullptr || def->inputs.empty() || def->inputs[0].optional || def->inputs[0].variadic || entry->make == nullptr ||
        Constant().contains(entry->op))
      continue;
    if (std::any_of(def->inputs.begin() + 1, def->inputs.end(), [](const auto& slot) { return !slot.optional; }) || def->outputs.empty())
      continue;
    const auto run = [&](DType dtype, const std::vector<float>& x) {
      OpRun op(entry->op);
      const Shape dims = {static_cast<int64_t>(x.size())};
      return op.In(def->inputs[0].name, dtype == DType::kF32 ? F32(dims, x) : Low(dtype, dims, x)).Out(def->outputs[0].name).Run();
    };
    const auto probe = run(DType::kF32, Ramp(6));
    if (!probe.ok() || (*probe)[0].dims() != absl::MakeConstSpan(Shape{6}) || (*probe)[0].dtype != DType::kF32) continue;
    const auto doubled = run(DType::kF32, With(Ramp(6), 2));
    ASSERT_TRUE(doubled.ok()) << entry->op;
    int changed = 0;  // an op that looks at more than the element itself is no map
    for (int i = 0; i < 6; ++i) changed += i != 2 && (*doubled)[0].floats()[i] != (*probe)[0].floats()[i] ? 1 : 0;
    if (changed > 0) continue;
    ++checked;
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (const int64_t n : {1, 3, 8, 15, 16, 33, 70}) {
        const auto plain = run(dtype, Ramp(n));
        if (!plain.ok()) continue;
        for (const size_t at : std::set<size_t>{0, static_cast<size_t>(n / 2), static_cast<size_t>(n - 1)}) {
          ASSERT_OK_AND_ASSIGN(const auto marked, run(dtype, With(Ramp(n), at)));
          ExpectNaN((*plain)[0].floats(), marked[0].floats(), [at](size_t i) { return i == at; }, At(entry->op, n, at, dtype));
        }
      }
    }
  }
  EXPECT_GE(checked, 35);
}

TEST(NaN, BoundsKeepIt) {
  for (const bool known : {false, true}) {
    for (const int64_t n : {1, 7, 16, 40}) {
      const auto run = [&](const std::vector<float>& x) {
        OpRun op("clip");
        op.In("X", F32({n}, x));
        known ? op.Const("Min", F32({1}, {0.2f})).Const("Max", F32({1}, {0.5f}))
              : op.In("Min", F32({1}, {0.2f})).In("Max", F32({1}, {0.5f}));
        return op.Attr("min", 0.2f).Attr("max", 0.5f).Out("Out").Run();
      };
      ASSERT_OK_AND_ASSIGN(const auto plain, run(Ramp(n)));
      for (int64_t at = 0; at < n; ++at) {
        ASSERT_OK_AND_ASSIGN(const auto marked, run(With(Ramp(n), at)));
        ExpectNaN(
            plain[0].floats(), marked[0].floats(), [at](size_t i) { return i == static_cast<size_t>(at); }, "clip");
      }
    }
  }
}

TEST(NaN, ReductionsGiveItWhereTheyReadIt) {
  for (const std::string op : {"reduce_max", "reduce_min", "reduce_sum", "reduce_mean", "reduce_prod"}) {
    for (const int64_t cols : {1, 5, 16, 67}) {
      const int64_t rows = 9;
      for (const int axis : {0, 1}) {
        const auto run = [&](const std::vector<float>& x) {
          return OpRun(op).In("X", F32({rows, cols}, x)).Attr("dim", std::vector<int32_t>{axis}).Out("Out").Run();
        };
        ASSERT_OK_AND_ASSIGN(const auto plain, run(Ramp(rows * cols)));
        for (int64_t at = 0; at < rows * cols; at += 7) {
          ASSERT_OK_AND_ASSIGN(const auto marked, run(With(Ramp(rows * cols), at)));
          const size_t group = static_cast<size_t>(axis == 0 ? at % cols : at / cols);
          ExpectNaN(
              plain[0].floats(), marked[0].floats(), [group](size_t i) { return i == group; }, At(op, cols, at, DType::kF32));
        }
      }
    }
  }
}

TEST(NaN, SoftmaxSpreadsItAlongTheAxisAlone) {
  for (const std::string op : {"softmax", "log_softmax"}) {
    for (const int64_t cols : {2, 8, 21, 130}) {
      const int64_t rows = 5;
      for (const int axis : {0, 1}) {
        const auto run = [&](const std::vector<float>& x) {
          return OpRun(op).In("X", F32({rows, cols}, x)).Attr("axis", axis).Out("Out").Run();
        };
        ASSERT_OK_AND_ASSIGN(const auto plain, run(Ramp(rows * cols)));
        for (int64_t at = 0; at < rows * cols; at += 3) {
          ASSERT_OK_AND_ASSIGN(const auto marked, run(With(Ramp(rows * cols), at)));
          const auto same = [&](size_t i) {
            const int64_t j = static_cast<int64_t>(i);
            return axis == 0 ? j % cols == at % cols : j / cols == at / cols;
          };
          ExpectNaN(plain[0].floats(), marked[0].floats(), same, At(op, cols, at, DType::kF32));
        }
      }
    }
  }
}

TEST(NaN, PoolsGiveItWhereAWindowHasIt) {
  constexpr int64_t kChannels = 19, kSize = 7;
  for (const std::string type : {"max", "avg"}) {
    for (const int window : {2, 3}) {
      for (const int stride : {1, 2}) {
        for (const bool last : {false, true}) {
          const auto run = [&](const std::vector<float>& x) {
            OpRun op("pool2d");
            op.In("X", F32({1, kChannels, kSize, kSize}, x)).Attr("pooling_type", type).Attr("ksize", std::vector<int32_t>{window, window});
            op.Attr("strides", std::vector<int32_t>{stride, stride}).Out("Out");
            if (last) op.ChannelsLast("X").ChannelsLast("Out");
            return op.Run();
          };
          ASSERT_OK_AND_ASSIGN(const auto plain, run(Ramp(kChannels * kSize * kSize)));
          const int64_t out = (kSize - window) / stride + 1;
          for (int64_t at = 0; at < kChannels * kSize * kSize; at += 31) {
            ASSERT_OK_AND_ASSIGN(const auto marked, run(With(Ramp(kChannels * kSize * kSize), at)));
            const int64_t channel = at / (kSize * kSize), y = at / kSize % kSize, x = at % kSize;
            const auto covers = [&](size_t i) {
              const int64_t j = static_cast<int64_t>(i), top = j / out % out * stride, left = j % out * stride;
              return j / (out * out) == channel && top <= y && y < top + window && left <= x && x < left + window;
            };
            ExpectNaN(plain[0].floats(), marked[0].floats(), covers, type + (last ? " channels last" : "") + " at " + std::to_string(at));
          }
        }
      }
    }
  }
}

// Above every number: first of the largest, last of the smallest. The extreme's index passes it over.
TEST(NaN, SortingPutsItAboveEveryNumber) {
  for (const int64_t n : {2, 9, 40}) {
    for (int64_t at = 0; at < n; ++at) {
      const Tensor x = F32({1, n}, With(Ramp(n), at));
      for (const bool largest : {true, false}) {
        ASSERT_OK_AND_ASSIGN(
            const auto top,
            OpRun("top_k_v2").In("X", x).Attr("k", static_cast<int>(n)).Attr("largest", largest).Out("Out").Out("Indices").Run());
        const size_t place = largest ? 0 : n - 1;
        for (size_t i = 0; i < static_cast<size_t>(n); ++i) EXPECT_EQ(std::isnan(top[0].floats()[i]), i == place) << n << " " << at;
        EXPECT_EQ(top[1].As<int64_t>()[place], at);
        ASSERT_OK_AND_ASSIGN(const auto sorted, OpRun("argsort").In("X", x).Attr("descending", largest).Out("Out").Out("Indices").Run());
        EXPECT_TRUE(std::isnan(sorted[0].floats()[place]));
        EXPECT_EQ(sorted[1].As<int64_t>()[place], at);
        ASSERT_OK_AND_ASSIGN(const auto best, OpRun(largest ? "arg_max" : "arg_min").In("X", x).Attr("axis", int64_t{1}).Out("Out").Run());
        EXPECT_NE(best[0].As<int64_t>()[0], at);
      }
    }
  }
}

// Added before an activation that compares; the result may lie where the residual does.
TEST(NaN, ResidualsKeepItInItsPlace) {
  for (const bool last : {true, false}) {
    const auto run = [last](const std::vector<float>& residual) {
      OpRun conv("conv2d");
      conv.In("Input", F32({1, 16, 3, 3}, Ramp(144))).Const("Filter", F32({16, 16, 1, 1}, Ramp(256)));
      conv.In("ResidualData", F32({1, 16, 3, 3}, residual)).Attr("fuse_activation", std::string("relu")).Out("Output");
      if (last) conv.ChannelsLast("Input").ChannelsLast("ResidualData").ChannelsLast("Output");
      return conv.Run();
    };
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> plain, run(Ramp(144)));
    for (const size_t at : {0, 77, 143}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> marked, run(With(Ramp(144), at)));
      ExpectNaN(
          plain[0].floats(), marked[0].floats(), [at](size_t i) { return i == at; }, last ? "nhwc" : "nchw");
    }
  }
}

}  // namespace
}  // namespace ampc::testing
