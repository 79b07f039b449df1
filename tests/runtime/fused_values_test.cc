// A fused step gives NaN and infinities wherever the single steps do: every fusion of the plan, with NaN and both infinities in every
// operand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/host_tensor.h"
#include "graph/op_registry.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
constexpr float kOdd[] = {kNan, kInf, -kInf};

// Small numbers of both signs and zeros, so that infinities meet them all.
std::vector<float> Values(int64_t n, int seed) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>((i * 7 + seed * 5 + i / 3) % 9 - 4) / 8;
  return values;
}

struct Operand {
  std::string name;
  std::vector<int64_t> dims;
  int step;               // elements from NaN to +inf, and from there to -inf
  bool positive = false;  // variances
  bool constant = true;
};

HostTensor ValueOf(const Operand& o, int seed, bool odd) {
  int64_t n = 1;
  for (int64_t d : o.dims) n *= d;
  std::vector<float> values = Values(n, seed);
  for (float& v : values) v = o.positive ? std::abs(v) + 0.25f : v;
  for (int i = 0; odd && i < 3 && i * o.step < n; ++i) values[i * o.step] = kOdd[i];
  return HostTensor::FromValues<float>(o.dims, values);
}

std::string Literal(const HostTensor& t) {
  return absl::StrCat("[",
                      absl::StrJoin(t.values<float>(), ", ",
                                    [](std::string* out, float v) {
                                      absl::StrAppend(out, std::isnan(v)   ? "nan"
                                                           : std::isinf(v) ? (v > 0 ? "inf" : "-inf")
                                                                           : absl::StrCat(v, std::trunc(v) == v ? ".0" : ""));
                                    }),
                      "]");
}

struct Case {
  std::string name;
  std::vector<Operand> operands;  // the first is always fed
  std::string body;               // makes y
};

std::string Text(const Case& c, int odd, bool feed_all) {
  std::string text;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const Operand& o = c.operands[i];
    const std::string type = absl::StrCat(" : f32 [", absl::StrJoin(o.dims, ", "), "]");
    if (i == 0 || feed_all || !o.constant) {
      absl::StrAppend(&text, "feed ", o.name, type, "\n");
    } else {
      absl::StrAppend(&text, "const ", o.name, type, " = ", Literal(ValueOf(o, static_cast<int>(i), static_cast<int>(i) == odd)), "\n");
    }
  }
  return absl::StrCat(text, c.body, "\nfetch y\n");
}

char Kind(float v) { return std::isnan(v) ? 'n' : std::isinf(v) ? (v > 0 ? '+' : '-') : '.'; }

std::string Kinds(const HostTensor& t) {
  std::string kinds;
  for (float v : t.values<float>()) kinds += Kind(v);
  return kinds;
}

// Fused ops give the results of the single ops, by kind. `odd`: the operand that holds NaN and infinities, -1 for none.
void ExpectSame(const Case& c, int odd, bool feed_all, int threads) {
  const std::string text = Text(c, odd, feed_all);
  SCOPED_TRACE(absl::StrCat(c.name, ", odd: ", odd < 0 ? "none" : c.operands[odd].name, feed_all ? ", fed, " : ", ", threads, " threads"));
  ASSERT_OK_AND_ASSIGN(const Session single, FromText(text, {.threads = threads, .strict_rounding = true}));
  ASSERT_OK_AND_ASSIGN(const Session fused, FromText(text, {.threads = threads}));
  TensorMap feeds;
  for (const ValueInfo& feed : fused.inputs()) {
    for (size_t i = 0; i < c.operands.size(); ++i) {
      if (c.operands[i].name == feed.name) feeds[feed.name] = ValueOf(c.operands[i], static_cast<int>(i), static_cast<int>(i) == odd);
    }
  }
  ASSERT_OK_AND_ASSIGN(TensorMap want, single.Run(feeds));
  ASSERT_OK_AND_ASSIGN(TensorMap have, fused.Run(feeds));
  EXPECT_EQ(Kinds(have.at("y")), Kinds(want.at("y")));
  ASSERT_OK_AND_ASSIGN(TensorMap again, fused.Run(feeds));
  EXPECT_TRUE(again.at("y") == have.at("y"));
}

// Whether the plan's pipeline joins ops of the case.
bool Fuses(const Case& c) {
  const std::string text = Text(c, -1, false);
  const absl::StatusOr<Session> single = FromText(text, {.threads = 1, .strict_rounding = true}), fused = FromText(text);
  return single.ok() && fused.ok() && fused->program().main().ops().size() < single->program().main().ops().size();
}

void ExpectSame(const Case& c) {
  EXPECT_TRUE(Fuses(c)) << Text(c, -1, false);
  for (int odd = -1; odd < static_cast<int>(c.operands.size()); ++odd) {
    ExpectSame(c, odd, false, 1 + (odd + 1) % 2);
    ExpectSame(c, odd, true, 2 - (odd + 1) % 2);
  }
}

// Ops of one float operand that run with default attributes.
std::vector<std::string> UnaryOps() {
  std::vector<std::string> names;
  for (const OpDef* def : Ops().All()) {
    int needed = 0;
    for (const SlotDef& slot : def->inputs) needed += slot.optional ? 0 : 1;
    if (needed != 1 || def->inputs[0].name != "X" || def->inputs[0].variadic || def->outputs.size() != 1 || def->outputs[0].name != "Out")
      continue;
    const absl::StatusOr<Session> session =
        FromText(absl::StrCat("feed x : f32 [2, 3, 5, 7]\ny = ", def->name, "(x) : f32 [2, 3, 5, 7]\nfetch y\n"));
    if (session.ok()) names.push_back(def->name);
  }
  return names;
}

struct Anchor {
  std::string name;
  std::vector<Operand> operands;
  std::string line;  // makes t
  std::string bias;  // an operand's dims, and how it is added
  std::vector<int64_t> result;
};

std::vector<Anchor> Anchors() {
  const std::vector<int64_t> image = {1, 8, 9, 9}, nhwc = {1, 9, 9, 8};
  return {
      {"conv2d 1x1", {{"x", image, 41}, {"w", {16, 8, 1, 1}, 9}}, "t = conv2d(Input=x, Filter=w)", "axis=1", {1, 16, 9, 9}},
      {"conv2d 3x3",
       {{"x", image, 41}, {"w", {16, 8, 3, 3}, 75}},
       "t = conv2d(Input=x, Filter=w) paddings=[1, 1]",
       "axis=1",
       {1, 16, 9, 9}},
      {"conv2d 3x3 from 3",
       {{"x", {1, 3, 9, 9}, 41}, {"w", {16, 3, 3, 3}, 29}},
       "t = conv2d(Input=x, Filter=w) paddings=[1, 1]",
       "axis=1",
       {1, 16, 9, 9}},
      {"conv2d NHWC",
       {{"x", nhwc, 41}, {"w", {16, 8, 3, 3}, 75}},
       "t = conv2d(Input=x, Filter=w) paddings=[1, 1] data_format=\"NHWC\"",
       "axis=3",
       {1, 9, 9, 16}},
      {"conv2d groups",
       {{"x", image, 41}, {"w", {16, 4, 3, 3}, 39}},
       "t = conv2d(Input=x, Filter=w) paddings=[1, 1] groups=2",
       "axis=1",
       {1, 16, 9, 9}},
      {"depthwise",
       {{"x", image, 41}, {"w", {8, 1, 3, 3}, 10}},
       "t = depthwise_conv2d(Input=x, Filter=w) paddings=[1, 1] groups=8",
       "axis=1",
       {1, 8, 9, 9}},
      {"matmul_v2", {{"x", {6, 24}, 25}, {"w", {24, 16}, 17}}, "t = matmul_v2(x, w)", "axis=1", {6, 16}},
      {"mul", {{"x", {6, 24}, 25}, {"w", {24, 16}, 17}}, "t = mul(x, w)", "axis=1", {6, 16}},
  };
}

Operand Bias(const Anchor& a) { return {"b", {a.bias == "axis=3" || a.result.size() == 2 ? a.result.back() : a.result[1]}, 1}; }

TEST(FusedValues, ActivationsOfConvolutionsAndProducts) {
  const std::vector<std::string> unary = UnaryOps();
  EXPECT_GT(unary.size(), 40u);
  for (const Anchor& a : Anchors()) {
    for (const std::string& act : unary) {
      const Case c = {absl::StrCat(a.name, " ", act), a.operands, absl::StrCat(a.line, "\ny = ", act, "(t)")};
      if (Fuses(c)) ExpectSame(c);
    }
  }
}

TEST(FusedValues, BiasResidualAndActivation) {
  for (const Anchor& a : Anchors()) {
    for (const char* act : {"relu", "relu6", "hard_sigmoid", "swish", "leaky_relu"}) {
      std::vector<Operand> operands = a.operands;
      operands.push_back(Bias(a));
      const std::string line = absl::StrCat(a.line, "\nu = elementwise_add(t, b) ", a.bias, "\n");
      ExpectSame({absl::StrCat(a.name, " bias ", act), operands, absl::StrCat(line, "y = ", act, "(u)")});
      if (a.result.size() != 4) continue;
      operands.push_back({"r", a.result, 43, false, false});
      ExpectSame(
          {absl::StrCat(a.name, " bias residual ", act), operands, absl::StrCat(line, "v = elementwise_add(u, r)\ny = ", act, "(v)")});
      // The residual dies in the convolution, which then may lie where it lay.
      ExpectSame({absl::StrCat(a.name, " bias dying residual ", act), operands,
                  absl::StrCat("q = abs(r)\n", line, "v = elementwise_add(u, q)\ny = ", act, "(v)")});
    }
  }
}

const Anchor& Named(const std::vector<Anchor>& anchors, absl::string_view name) {
  return *std::find_if(anchors.begin(), anchors.end(), [name](const Anchor& a) { return a.name == name; });
}

TEST(FusedValues, WhatAConvolutionTakesIn) {
  const std::vector<Anchor> anchors = Anchors();
  for (const char* name : {"conv2d 3x3", "conv2d NHWC", "depthwise"}) {
    const Anchor& a = Named(anchors, name);
    const int64_t channels = Bias(a).dims[0];
    std::vector<Operand> norm = a.operands;
    for (const char* slot : {"scale", "bias", "mean"}) norm.push_back({slot, {channels}, 1});
    norm.push_back({"variance", {channels}, 1, true});
    const char* const layout = a.bias == "axis=3" ? " data_layout=\"NHWC\"" : "";
    const std::string line =
        absl::StrCat(a.line, "\nbatch_norm(X=t, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> Y=u is_test=true", layout, "\n");
    ExpectSame({absl::StrCat(name, " batch norm"), norm, absl::StrCat(line, "y = scale(u)")});
    ExpectSame({absl::StrCat(name, " batch norm relu"), norm, absl::StrCat(line, "y = relu(u)")});
    std::vector<Operand> affine = a.operands;
    affine.push_back({"s", {channels}, 1});
    affine.push_back({"c", {channels}, 1});
    ExpectSame({absl::StrCat(name, " product and sum"), affine,
                absl::StrCat(a.line, "\nu = elementwise_mul(t, s) ", a.bias, "\nv = elementwise_add(u, c) ", a.bias, "\ny = relu(v)")});
    ExpectSame({absl::StrCat(name, " numbers"), a.operands,
                absl::StrCat(a.line, "\nu = hard_sigmoid(t)\nv = scale(u) scale=2.0\ny = scale(v) bias=-1.0")});
  }
  const Operand x = {"x", {1, 8, 9, 9}, 41}, w = {"w", {16, 8, 3, 3}, 75};
  ExpectSame({"in front", {x, w}, "t = scale(x) scale=0.5 bias=0.25\ny = conv2d(Input=t, Filter=w)"});
}

TEST(FusedValues, WhatIsSpeltOut) {
  const Operand x = {"x", {6, 16}, 17};
  ExpectSame(
      {"gelu", {x}, "a = scale(x) scale=0.70710678\nb = erf(a)\nc = scale(b) bias=1.0\nd = elementwise_mul(x, c)\ny = scale(d) scale=0.5"});
  ExpectSame(
      {"hard_swish", {x}, "a = scale(x) bias=3.0\nb = clip(a) min=0.0 max=6.0\nc = elementwise_mul(x, b)\ny = scale(c) scale=0.16666667"});
  ExpectSame({"swish", {x}, "a = sigmoid(x)\ny = elementwise_mul(x, a)"});
  ExpectSame({"swish with a factor", {x}, "a = scale(x) scale=1.702\nb = sigmoid(a)\ny = elementwise_mul(x, b)"});
  ExpectSame({"mish", {x}, "a = softplus(x)\nb = tanh(a)\ny = elementwise_mul(x, b)"});
  const std::string by_tanh =
      "c = scale(b) scale=0.7978846\nd = tanh(c)\ne = scale(d) bias=1.0\nf = elementwise_mul(x, e)\ny = scale(f) scale=0.5";
  ExpectSame(
      {"gelu by tanh", {x}, absl::StrCat("p = pow(x) factor=3.0\na = scale(p) scale=0.044715\nb = elementwise_add(x, a)\n", by_tanh)});
  ExpectSame({"gelu by tanh of a product",
              {x},
              absl::StrCat("p = square(x)\na = scale(p) scale=0.044715\nq = scale(a) bias=1.0\nb = elementwise_mul(x, q)\n", by_tanh)});
  ExpectSame({"hard_sigmoid", {x}, "a = hard_sigmoid(x) slope=0.16666667\ny = elementwise_mul(x, a)"});
  ExpectSame({"numbers", {x}, "a = scale(x) scale=3.0\nb = scale(a) bias=-2.0\ny = scale(b) scale=0.5"});
  const std::string mean =
      "m = reduce_mean(x) dim=[-1] keep_dim=true\nd = elementwise_sub(x, m)\nq = square(d)\n"
      "v = reduce_mean(q) dim=[-1] keep_dim=true\ne = scale(v) bias=0.001\ns = sqrt(e)\nn = elementwise_div(d, s)\n";
  ExpectSame(
      {"layer norm", {x, {"g", {16}, 1}, {"b", {16}, 1}}, absl::StrCat(mean, "o = elementwise_mul(n, g)\ny = elementwise_add(o, b)")});
}

}  // namespace
}  // namespace ampc
