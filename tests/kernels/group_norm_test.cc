// group_norm and instance_norm against double precision, on shapes that are divided among threads, in both memory orders.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

// [n, c, h, w]
std::vector<double> Reference(const Tensor& x, int64_t groups, const Tensor& scale, const Tensor& bias) {
  const int64_t channels = x.dims()[1], spatial = x.dims()[2] * x.dims()[3], size = channels / groups * spatial;
  const std::vector<float> in = x.floats(), s = scale.floats(), b = bias.floats();
  std::vector<double> out(in.size());
  for (size_t first = 0; first < in.size(); first += size) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < size; ++i) mean += in[first + i] / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) variance += (in[first + i] - mean) * (in[first + i] - mean) / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) {
      const int64_t c = static_cast<int64_t>(first + i) / spatial % channels;
      out[first + i] = (in[first + i] - mean) / std::sqrt(variance + 1e-5) * s[c] + b[c];
    }
  }
  return out;
}

void Check(const Shape& dims, int64_t groups, bool channels_last) {
  SCOPED_TRACE(::testing::PrintToString(dims) + (channels_last ? " channels last" : ""));
  const bool instance = groups == 0;
  const Tensor x = Random(dims, 1), scale = Random({dims[1]}, 2), bias = Random({dims[1]}, 3);
  OpRun run(instance ? "instance_norm" : "group_norm");
  run.In("X", x).In("Scale", scale).In("Bias", bias).Out("Y");
  if (!instance) run.Attr("groups", static_cast<int32_t>(groups));
  if (channels_last) run.ChannelsLast("X").ChannelsLast("Y");
  ASSERT_OK_AND_ASSIGN(const auto got, run.Run());
  const std::vector<double> want = Reference(x, instance ? dims[1] : groups, scale, bias);
  const std::vector<float> values = got[0].floats();
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(Near(values[i], want[i], {1e-5, 5e-6})) << "element " << i << " is " << values[i] << ", needs " << want[i];
  }
}

TEST(GroupNorm, AgreesWithDoubles) {
  for (const bool last : {false, true}) {
    Check({1, 32, 40, 70}, 8, last);  // more than one part of rows
    Check({3, 96, 9, 11}, 32, last);
    Check({2, 130, 5, 7}, 2, last);  // groups across blocks of channels
    Check({2, 5, 33, 31}, 0, last);
    Check({1, 80, 50, 30}, 0, last);
    Check({2, 8, 16, 18}, 4, last);  // several positions to a row
    Check({3, 3, 40, 64}, 0, last);
    Check({1, 24, 7, 10}, 3, last);
  }
}

TEST(GroupNorm, LowResultsAreRoundedOnce) {
  const Tensor x = Random({2, 8, 5, 6}, 1);
  const Tensor low = Low(DType::kF16, {2, 8, 5, 6}, x.floats());
  const auto run = [](const Tensor& t) { return OpRun("group_norm").In("X", t).Attr("groups", 4).Out("Y").Out("Mean").Run(); };
  ASSERT_OK_AND_ASSIGN(const auto wide, run(F32({2, 8, 5, 6}, low.floats())));
  ASSERT_OK_AND_ASSIGN(const auto narrow, run(low));
  EXPECT_EQ(narrow[0].floats(), Low(DType::kF16, {2, 8, 5, 6}, wide[0].floats()).floats());
  EXPECT_EQ(narrow[1].dtype, DType::kF32);
  EXPECT_EQ(narrow[1].floats(), wide[1].floats());
}

}  // namespace
}  // namespace ampc::testing
