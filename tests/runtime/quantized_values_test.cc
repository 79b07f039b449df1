// Fused products of integers give what the single steps give, within a step where the result is quantised and a rounding where it is not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/host_tensor.h"
#include "runtime/session.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

struct Case {
  std::string name, product;  // reads a and f, makes c
  std::vector<int64_t> x, w;  // dims
  int axis;                   // of the scales of w
  int64_t scales;
};

const Case kCases[] = {
    {"conv", "c = conv2d(a, f, b) paddings=[1, 1]", {2, 3, 9, 7}, {5, 3, 3, 3}, 0, 5},
    {"strided", "c = conv2d(a, f, b) strides=[2, 2]", {1, 16, 8, 8}, {8, 16, 1, 1}, 0, 8},
    {"depthwise", "c = depthwise_conv2d(a, f, b) groups=6 paddings=[1, 1]", {1, 6, 7, 9}, {6, 1, 3, 3}, 0, 6},
    {"product", "m = matmul_v2(a, f)\nc = elementwise_add(m, b)", {2, 5, 33}, {33, 7}, 1, 7},
    {"transposed", "m = matmul_v2(a, f) trans_y=true\nc = elementwise_add(m, b)", {5, 33}, {7, 33}, 0, 7},
};

int64_t Count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

std::string Dims(const std::vector<int64_t>& dims) { return absl::StrCat("[", absl::StrJoin(dims, ", "), "]"); }

std::string Numbers(int64_t n, int seed, int low, int high) {
  std::vector<int> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = low + static_cast<int>((i * 7919 + seed * 31 + i / 5) % (high - low + 1));
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

std::string Text(const Case& c, const std::string& type, int zero, const std::string& activation, bool quantises) {
  std::vector<std::string> scales(c.scales, "0.25"), bias;
  for (int64_t i = 0; i < c.scales; ++i) {
    if (i % 2 == 1) scales[i] = absl::StrCat("0.0", i + 1);
    bias.push_back(absl::StrCat(i - 2, ".5"));
  }
  const std::string n = absl::StrCat("[", c.scales, "]"), z = absl::StrCat("const z : ", type, " [] = ", zero);
  std::string text = absl::StrCat("feed x : f32 ", Dims(c.x), "\nconst s : f32 [] = 0.125\n", z, "\nconst w : i8 ", Dims(c.w), " = ",
                                  Numbers(Count(c.w), 1, -128, 127));
  absl::StrAppend(&text, "\nconst sw : f32 ", n, " = [", absl::StrJoin(scales, ", "), "]\nconst b : f32 ", n, " = [",
                  absl::StrJoin(bias, ", "), "]\nconst t : f32 [] = 3.5\n");
  absl::StrAppend(&text, "u = affine_quantize(x, s, z) out_dtype=", type,
                  "\na = affine_dequantize(u, s, z)\nf = affine_dequantize(w, sw) axis=", c.axis, "\n", c.product);
  absl::StrAppend(&text, "\n", activation.empty() ? "" : absl::StrCat("r = ", activation, "\n"));
  const std::string last = activation.empty() ? "c" : "r";
  if (quantises)
    return absl::StrCat(text, "q = affine_quantize(", last, ", t, z) out_dtype=", type, "\ny = cast(q) out_dtype=f32\nfetch y\n");
  return absl::StrCat(text, "y = scale(", last, ") scale=2.0\nfetch y\n");
}

std::vector<float> Feed(int64_t n) {
  constexpr float kOdd[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            3e38f,
                            -3e38f,
                            1e-40f};
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = i % 11 == 3 ? kOdd[i / 11 % 6] : static_cast<float>((i * 37) % 301 - 150) / 8;
  return x;
}

TEST(QuantizedValues, FusedAsUnfused) {
  for (const Case& c : kCases) {
    for (const auto& [type, zero] : {std::pair("u8", 0), std::pair("u8", 113), std::pair("i8", -7)}) {
      for (const std::string activation :
           {"", "relu(c)", "relu6(c)", "clip(c) max=40.0 min=0.0", "clip(c) max=40.0 min=-3.0", "sigmoid(c)"}) {
        for (const bool quantises : {false, true}) {
          const std::string text = Text(c, type, zero, activation, quantises);
          SCOPED_TRACE(text);
          const std::vector<HostTensor> feeds = {HostTensor::FromValues<float>(c.x, Feed(Count(c.x)))};
          ASSERT_OK_AND_ASSIGN(Session fused, FromText(text, {.threads = 2}));
          ASSERT_OK_AND_ASSIGN(Session single, FromText(text, {.threads = 1, .strict_rounding = true}));
          ASSERT_OK_AND_ASSIGN(const auto got, fused.Run({{"x", feeds[0]}}));
          ASSERT_OK_AND_ASSIGN(const auto want, single.Run({{"x", feeds[0]}}));
          const std::vector<float> a = Floats(got.at("y")), b = Floats(want.at("y"));
          ASSERT_EQ(a.size(), b.size());
          for (size_t i = 0; i < a.size(); ++i) {
            ASSERT_LE(std::abs(a[i] - b[i]), quantises ? 1 : 1e-5 * (std::abs(b[i]) + 300))
                << i << ": " << a[i] << ", single steps give " << b[i];
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ampc
