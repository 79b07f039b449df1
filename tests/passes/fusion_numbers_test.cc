// Fused programs compute what their originals compute.
#include <algorithm>
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "runtime/session.h"
#include "tests/testlib/random_weights.h"
#include "tests/testlib/tolerance.h"

namespace ampc {
namespace {

struct Net {
  const char* name;
  const char* text;
  int ops_after;  // that the plan leaves
  DType dtype = DType::kF32;
};

constexpr Net kNets[] = {
    {"ConvBnRelu", R"(
feed  x : f32 [?, 3, ?, ?]
param w : f32 [4, 3, 3, 3]
param s : f32 [4]
param b : f32 [4]
param m : f32 [4]
param v : f32 [4]
y = conv2d(x, w) paddings=[1, 1] strides=[2, 2] : f32 [?, 4, ?, ?]
n = batch_norm(y, s, b, m, v) is_test=true : f32 [?, 4, ?, ?]
z = relu(n) : f32 [?, 4, ?, ?]
fetch z)",
     1},
    {"ResidualBlock", R"(
feed  x : f32 [?, 3, ?, ?]
param w : f32 [3, 3, 3, 3]
param b : f32 [3]
param u : f32 [3, 3, 1, 1]
a = conv2d(x, w) paddings=[1, 1] : f32 [?, 3, ?, ?]
t = elementwise_add(a, b) axis=1 : f32 [?, 3, ?, ?]
r = relu(t) : f32 [?, 3, ?, ?]
c = conv2d(r, u) : f32 [?, 3, ?, ?]
d = elementwise_add(c, x) : f32 [?, 3, ?, ?]
z = relu6(d) threshold=1.0 : f32 [?, 3, ?, ?]
fetch z)",
     2},
    {"AffineAroundActivation", R"(
feed  x : f32 [?, 3, ?, ?]
param w : f32 [3, 1, 3, 3]
param b : f32 [3]
param s1 : f32 [1]
param c1 : f32 [1]
param s2 : f32 [1]
param c2 : f32 [1]
param u : f32 [5, 3, 1, 1]
y = depthwise_conv2d(x, w, b) groups=3 paddings=[1, 1] : f32 [?, 3, ?, ?]
t = elementwise_mul(s1, y) : f32 [?, 3, ?, ?]
a = elementwise_add(t, c1) : f32 [?, 3, ?, ?]
h = hard_swish(a) : f32 [?, 3, ?, ?]
t2 = elementwise_mul(s2, h) : f32 [?, 3, ?, ?]
a2 = elementwise_add(t2, c2) : f32 [?, 3, ?, ?]
z = conv2d(a2, u) : f32 [?, 5, ?, ?]
fetch z)",
     2},
    {"AffineBeforePadding", R"(
feed  x : f32 [?, 3, ?, ?]
param w : f32 [2, 3, 3, 3]
param s : f32 [1]
param c : f32 [1]
t = elementwise_mul(x, s) : f32 [?, 3, ?, ?]
a = elementwise_add(t, c) : f32 [?, 3, ?, ?]
y = conv2d(a, w) paddings=[1, 1] : f32 [?, 2, ?, ?]
z = sigmoid(y) : f32 [?, 2, ?, ?]
fetch z)",
     2},
    {"ProductBiasGelu", R"(
feed  x : f32 [?, 3, 8, 8]
param w : f32 [8, 6]
param b : f32 [6]
y = matmul_v2(x, w) : f32 [?, 3, 8, 6]
t = elementwise_add(b, y) : f32 [?, 3, 8, 6]
z = gelu(t) : f32 [?, 3, 8, 6]
fetch z)",
     1},
    {"ScaleBehindAnActivation", R"(
feed  x : f32 [?, 3, ?, ?]
param w : f32 [4, 3, 3, 3]
const factor : f32 [1] = [0.75]
const term : f32 [1] = [-0.5]
y = conv2d(x, w) paddings=[1, 1] : f32 [?, 4, ?, ?]
a = hard_swish(y) : f32 [?, 4, ?, ?]
m = elementwise_mul(a, factor) : f32 [?, 4, ?, ?]
z = elementwise_add(m, term) : f32 [?, 4, ?, ?]
fetch z)",
     1},
    {"ProductBiasGeluSpeltOut", R"(
feed  x : f32 [?, 3, 8, 8]
param w : f32 [8, 6]
param b : f32 [6]
const root : f32 [1] = [1.4142135]
const one : f32 [1] = [1.0]
const half : f32 [1] = [0.5]
y = matmul_v2(x, w) : f32 [?, 3, 8, 6]
t = elementwise_add(y, b) : f32 [?, 3, 8, 6]
s = elementwise_div(t, root) : f32 [?, 3, 8, 6]
e = erf(s) : f32 [?, 3, 8, 6]
u = elementwise_add(e, one) : f32 [?, 3, 8, 6]
m = elementwise_mul(t, u) : f32 [?, 3, 8, 6]
z = elementwise_mul(m, half) : f32 [?, 3, 8, 6]
fetch z)",
     1},
    {"MulLeakyRelu", R"(
feed  x : f32 [?, 3, 8, 8]
param w : f32 [192, 6]
param b : f32 [6]
y = mul(x, w) : f32 [?, 6]
t = elementwise_add(y, b) : f32 [?, 6]
z = hard_sigmoid(t) slope=0.3 offset=0.4 : f32 [?, 6]
fetch z)",
     1},
    {"LayerNormBehindCasts", R"(
feed  x : f32 [?, 3, 8, 8]
param g : f32 [8]
param b : f32 [8]
h = cast(x) out_dtype=f16 : f16 [?, 3, 8, 8]
m = reduce_mean(h) dim=[-1] keep_dim=true : f16 [?, 3, 8, 1]
d = elementwise_sub(h, m) : f16 [?, 3, 8, 8]
w = cast(d) in_dtype=f16 : f32 [?, 3, 8, 8]
q = pow(w) factor=2.0 : f32 [?, 3, 8, 8]
v = reduce_mean(q) dim=[-1] keep_dim=true : f32 [?, 3, 8, 1]
e = scale(v) bias=1e-05 : f32 [?, 3, 8, 1]
s = sqrt(e) : f32 [?, 3, 8, 1]
n = elementwise_div(w, s) : f32 [?, 3, 8, 8]
l = cast(n) out_dtype=f16 : f16 [?, 3, 8, 8]
i = cast(g) out_dtype=f16 : f16 [8]
t = elementwise_mul(l, i) : f16 [?, 3, 8, 8]
u = cast(t) in_dtype=f16 : f32 [?, 3, 8, 8]
y = elementwise_add(u, b) : f32 [?, 3, 8, 8]
o = cast(y) out_dtype=f16 : f16 [?, 3, 8, 8]
z = cast(o) in_dtype=f16 : f32 [?, 3, 8, 8]
fetch z)",
     1, DType::kF16},
    {"GeluByTanhBehindCasts", R"(
feed  x : f32 [?, 3, 8, 8]
param w : f32 [8, 6]
param b : f32 [6]
h = cast(x) out_dtype=bf16 : bf16 [?, 3, 8, 8]
i = cast(w) out_dtype=bf16 : bf16 [8, 6]
m = matmul_v2(h, i) : bf16 [?, 3, 8, 6]
f = cast(m) in_dtype=bf16 : f32 [?, 3, 8, 6]
a = elementwise_add(f, b) : f32 [?, 3, 8, 6]
y = cast(a) out_dtype=bf16 : bf16 [?, 3, 8, 6]
c = cast(y) in_dtype=bf16 : f32 [?, 3, 8, 6]
p = pow(c) factor=3.0 : f32 [?, 3, 8, 6]
q = cast(p) out_dtype=bf16 : bf16 [?, 3, 8, 6]
k = scale(q) scale=0.044715 : bf16 [?, 3, 8, 6]
s = elementwise_add(y, k) : bf16 [?, 3, 8, 6]
r = scale(s) scale=0.7978846 : bf16 [?, 3, 8, 6]
t = tanh(r) : bf16 [?, 3, 8, 6]
o = scale(t) bias=1.0 : bf16 [?, 3, 8, 6]
g = elementwise_mul(o, y) : bf16 [?, 3, 8, 6]
e = scale(g) scale=0.5 : bf16 [?, 3, 8, 6]
z = cast(e) in_dtype=bf16 : f32 [?, 3, 8, 6]
fetch z)",
     4, DType::kBF16},
    {"TransposedConvolutionOfWindowsSideBySide", R"(
feed  x : f32 [?, 3, 8, 8]
param w : f32 [3, 5, 3, 2]
param b : f32 [5]
conv2d_transpose(Input=x, Filter=w, Bias=b) -> Output=z strides=[3, 2] : f32 [?, 5, 24, 16]
fetch z)",
     6},
    {"ConvBnBehindACast", R"(
feed  x : f32 [?, 3, ?, ?]
const i : bf16 [4, 3, 1, 1] = [1.0, -0.5, 2.0, 0.25, 1.0, 1.5, -1.0, 0.5, 0.75, 1.0, 0.0, -2.0]
param s : f32 [4]
param b : f32 [4]
param m : f32 [4]
param v : f32 [4]
h = cast(x) out_dtype=bf16 : bf16 [?, 3, ?, ?]
y = conv2d(h, i) : bf16 [?, 4, ?, ?]
c = cast(y) out_dtype=f32 : f32 [?, 4, ?, ?]
n = batch_norm(c, s, b, m, v) is_test=true : f32 [?, 4, ?, ?]
l = cast(n) out_dtype=bf16 : bf16 [?, 4, ?, ?]
r = relu(l) : bf16 [?, 4, ?, ?]
z = cast(r) out_dtype=f32 : f32 [?, 4, ?, ?]
fetch z)",
     3, DType::kBF16},
    {"QuickGelu", R"(
feed  x : f32 [?, 3, 8, 8]
a = scale(x) scale=1.702 : f32 [?, 3, 8, 8]
s = sigmoid(a) : f32 [?, 3, 8, 8]
z = elementwise_mul(x, s) : f32 [?, 3, 8, 8]
fetch z)",
     1},
    {"Mish", R"(
feed  x : f32 [?, 3, 8, 8]
s = softplus(x) : f32 [?, 3, 8, 8]
t = tanh(s) : f32 [?, 3, 8, 8]
z = elementwise_mul(x, t) : f32 [?, 3, 8, 8]
fetch z)",
     1},
};

class Fusion : public ::testing::TestWithParam<Net> {};

TEST_P(Fusion, ComputesTheSame) {
  std::mt19937 random(7);
  const Program program = testing::WithRandomWeights(GetParam().text, random);
  const absl::StatusOr<Session> strict = Session::Create(program.Clone(), {.threads = 1, .strict_rounding = true});
  const absl::StatusOr<Session> fused = Session::Create(program.Clone(), {.threads = 1});
  ASSERT_TRUE(strict.ok()) << strict.status().message();
  ASSERT_TRUE(fused.ok()) << fused.status().message();
  EXPECT_EQ(fused->program().main().ops().size(), static_cast<size_t>(GetParam().ops_after));
  EXPECT_NE(strict->program().main().ops().size(), fused->program().main().ops().size());
  const TensorMap feeds = {{"x", testing::RandomTensor(random, {2, 3, 8, 8}, -2.0f, 2.0f)}};
  const absl::StatusOr<TensorMap> needed = strict->Run(feeds);
  const absl::StatusOr<TensorMap> found = fused->Run(feeds);
  ASSERT_TRUE(needed.ok()) << needed.status().message();
  ASSERT_TRUE(found.ok()) << found.status().message();
  const absl::Span<const float> a = found->at("z").values<float>();
  const absl::Span<const float> b = needed->at("z").values<float>();
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (float v : b) largest = std::max(largest, static_cast<double>(std::abs(v)));
  const testing::Tolerance tolerance = testing::ToleranceFor(GetParam().dtype);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance.abs + tolerance.rel * largest) << i;
}

INSTANTIATE_TEST_SUITE_P(Nets, Fusion, ::testing::ValuesIn(kNets),
                         [](const ::testing::TestParamInfo<Net>& info) { return info.param.name; });

}  // namespace
}  // namespace ampc
