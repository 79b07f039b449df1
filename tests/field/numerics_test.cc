// Numbers that a low type does not have, and sums that it cannot hold (README.md, rows 42 to 54).
#include "tests/field/field.h"

namespace ampc::testing {
namespace {

// clang-format off
const FieldModel kModels[] = {
    {.name = "LayerNormOfLargeValues", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16] = 100, -300, 50, 200, 0, 7, -90
w v f32 [16, 16]
w two f32 [] = 2
w eps f32 [] = 1e-12
a = MatMul(x, w)
m = ReduceMean(a) axes=[-1]
d = Sub(a, m)
q = Pow(d, two)
v2 = ReduceMean(q) axes=[-1]
e = Add(v2, eps)
s = Sqrt(e)
n = Div(d, s)
y = MatMul(n, v)
out y f32 [4, 16]
)"},
    {.name = "RootMeanSquareOfLargeValues", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16] = 1000, -300, 500, 200, 0, 7, -900
w v f32 [16, 16]
w eps f32 [] = 1e-6
a = MatMul(x, w)
q = Mul(a, a)
m = ReduceMean(q) axes=[-1]
e = Add(m, eps)
s = Sqrt(e)
r = Reciprocal(s)
n = Mul(a, r)
y = MatMul(n, v)
out y f32 [4, 16]
)"},
    {.name = "InfiniteBoundsAndLargeMasks", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w inf f32 [] = inf
w mask f32 [16] = 0, 0, 0, -999999995904
a = MatMul(x, w)
b = Min(a, inf)
c = Add(b, mask)
p = Softmax(c)
y = MatMul(p, w)
out y f32 [4, 16]
)"},
    {.name = "TwoMasksOneAfterTheOther", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w m1 f32 [16] = 0, 0, -34000
w m2 f32 [16] = 0, -60000
a = MatMul(x, w)
b = Add(a, m1)
c = Add(b, m2)
p = Softmax(c)
y = MatMul(p, w)
out y f32 [4, 16]
)"},
    {.name = "RowsThatAreMaskedWhole", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w m f32 [4, 1] = 0, -3.4028235e38
a = MatMul(x, w)
b = Add(a, m)
p = Softmax(b)
y = MatMul(p, w)
out y f32 [4, 16]
)"},
    // The operator Where of that version has no bf16: it stays fp32, and what reads it must not make the largest number infinite.
    {.name = "RowsThatWhereMasksWhole", .text = R"(
opset 15
in x f32 [4, 16]
in m bool [4, 1]
w w f32 [16, 16]
w low f32 [] = -3.4028235e38
a = MatMul(x, w)
b = Where(m, low, a)
p = Softmax(b)
y = MatMul(p, w)
out y f32 [4, 16]
)"},
    {.name = "MasksByWhere", .text = R"(
opset 17
in x f32 [4, 16]
in m bool [4, 16]
w w f32 [16, 16]
w low f32 [] = -3.4028235e38
w inf f32 [] = -inf
a = MatMul(x, w)
e = Exp(a)
b = Where(m, e, low)
p = Softmax(b)
c = Where(m, a, inf)
q = Softmax(c)
d = Add(p, q)
y = MatMul(d, w)
out y f32 [4, 16]
)"},
    {.name = "MasksThatAreSmallEnough", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w m f32 [16] = 0, 0, -10000
a = MatMul(x, w)
b = Add(a, m)
p = Softmax(b)
y = MatMul(p, w)
out y f32 [4, 16]
)"},
    {.name = "TheNormThatIsClipped", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16] = 0, 0.00001, 0, 0, 0.00002
w tiny f32 [] = 1e-12
a = MatMul(x, w)
n = ReduceL2(a) axes=[-1]
c = Clip(n, tiny)
y = Div(a, c)
out y f32 [4, 16]
)"},
    {.name = "AVarianceBeyondTheRange", .text = R"(
opset 22
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
w g f32 [3] = 1000
w b f32 [3] = 0
w m f32 [3] = 0
w v f32 [3] = 1000000, 200000, 1
a = Conv(x, w)
y = BatchNormalization(a, g, b, m, v)
out y f32 [1, 3, 8, 8]
)"},
    {.name = "VectorsOfBatchNormalization", .text = R"(
opset 11
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
w g f32 [3] = 0.7, -1.3, 0
w b f32 [3] = 0.1, 2.3, 0.3
w m f32 [3] = 0.3, -0.01, 40
w v f32 [3] = 0.9, 0.04, 0.3
a = Conv(x, w)
y = BatchNormalization(a, g, b, m, v)
out y f32 [1, 3, 8, 8]
)", .low = {"g", "b", "m", "v"}},
    {.name = "AProductThatIsTakenDownAgain", .text = R"(
opset 17
in x f32 [4, 16]
w s f32 [16] = 0.000001
w w f32 [16, 16]
w big f32 [16] = 1000000
a = Mul(x, big)
b = Mul(a, s)
y = MatMul(b, w)
out y f32 [4, 16]
)"},
    {.name = "LongSums", .text = R"(
opset 17
in x f32 [1, 4096]
w h f32 [] = 40
w w f32 [1, 16]
a = Abs(x)
b = Mul(a, h)
s = ReduceSum(b) keepdims=1
l = Log(s)
y = MatMul(l, w)
out y f32 [1, 16]
out s f32 [1, 1]
)"},
    // A few numbers are more likely what a formula needs than what training found: they stay.
    {.name = "BeyondTheRangeInAFewNumbers", .text = R"(
opset 17
in x f32 [4, 2]
w w f32 [2, 2] = 1000000, 0.5, -70000, 1
w s f32 [2] = 0.000001
a = MatMul(x, w)
b = Mul(a, s)
y = Relu(b)
out y f32 [4, 2]
)", .full = {"w"}},
    // PyTorch's normalize and its neighbours, where a row is 0: what keeps the norm from zero has to stay.
    {.name = "TheNormOfAZeroRow", .text = R"(
opset 17
in x f32 [4, 16]
w zero f32 [4, 1] = 0, 1
w w f32 [16, 16]
w tiny f32 [] = 1e-12
w shape i64 [2] = 4, 16
a = MatMul(x, w)
b = Mul(a, zero)
n = ReduceL2(b) axes=[-1]
c = Clip(n, tiny)
e = Expand(c, shape)
d = Div(b, e)
y = MatMul(d, w)
out y f32 [4, 16]
)", .lines = {"d = Div(b.f32, e)"}},
    {.name = "TheNormOfAZeroRowByAnAttribute", .text = R"(
opset 10
in x f32 [4, 16]
w zero f32 [4, 1] = 0, 1
w w f32 [16, 16]
a = MatMul(x, w)
b = Mul(a, zero)
n = ReduceL2(b) axes=[-1]
c = Clip(n) min=0.000000000001
d = Div(b, c)
y = MatMul(d, w)
out y f32 [4, 16]
)"},
    {.name = "AnEpsilonBehindAnIdentity", .text = R"(
opset 17
in x f32 [4, 16]
w zero f32 [4, 1] = 0, 1
w w f32 [16, 16]
w tiny f32 [] = 1e-12
a = MatMul(x, w)
b = Mul(a, zero)
n = ReduceL2(b) axes=[-1]
t = Identity(tiny)
c = Add(n, t)
d = Div(b, c)
y = MatMul(d, w)
out y f32 [4, 16]
)"},
    // 1e12 is infinite in fp16, and 0 times that is NaN.
    {.name = "ReciprocalsOfNormsWithEpsilon", .text = R"(
opset 17
in x f32 [4, 16]
w zero f32 [4, 1] = 0, 1
w w f32 [16, 16]
w tiny f32 [] = 1e-12
w small f32 [] = 1e-8
w eps f32 [] = 1.1920928955078125e-7
w one f32 [] = 1
w two f32 [] = 2
w shape i64 [2] = 4, 16
a = MatMul(x, w)
b = Mul(a, zero)
n = ReduceL2(b) axes=[-1]
c1 = Add(n, tiny)
r1 = Reciprocal(c1)
d1 = Mul(b, r1)
c2 = Add(n, small)
r2 = Div(one, c2)
e2 = Expand(r2, shape)
d2 = Mul(b, e2)
c3 = Max(n, tiny)
s3 = Sqrt(c3)
r3 = Reciprocal(s3)
t3 = Mul(r3, two)
d3 = Mul(b, t3)
c4 = Add(n, eps)
r4 = Div(one, c4)
d4 = Mul(b, r4)
f = Concat(d1, d2, d3, d4) axis=1
y = Relu(f)
out y f32 [4, 64]
)"},
    {.name = "AnEpsilonThroughConcat", .text = R"(
opset 17
in x f32 [4, 16]
w zero f32 [4, 1] = 0, 1
w w f32 [16, 16]
w tiny f32 [] = 1e-12
a = MatMul(x, w)
b = Mul(a, zero)
n = ReduceL2(b) axes=[-1]
c = Add(n, tiny)
k = Concat(c, c) axis=1
m = ReduceMax(k) axes=[1]
d = Div(b, m)
y = MatMul(d, w)
out y f32 [4, 16]
)"},
    // The norms of a cosine: their product is 0 in fp16 where each of them is not.
    {.name = "AProductOfNormsWithEpsilon", .text = R"(
opset 17
in x f32 [4, 16]
w zero f32 [4, 1] = 0, 1
w w f32 [16, 16]
w tiny f32 [] = 0.00001
a = MatMul(x, w)
b = Mul(a, zero)
n = ReduceL2(b) axes=[-1]
c = Max(n, tiny)
p = Mul(c, c)
d = Div(b, p)
y = MatMul(d, w)
out y f32 [4, 16]
)"},
    {.name = "FillersBeyondTheRange", .text = R"(
opset 10
in x f32 [1, 2, 4, 4]
w w f32 [2, 2, 1, 1]
w zero f32 [] = 0
a = Conv(x, w)
p = Pad(a) pads=[0, 0, 1, 1, 0, 0, 1, 1] mode="constant" value=-1000000000.0
q = Mul(p, zero)
y = Relu(q)
out y f32 [1, 2, 6, 6]
)"},
    {.name = "WeightsThatVanish", .text = R"(
opset 17
in x f32 [4, 64]
w w f32 [64, 64] = 0.00000001, -0.000000003, 0.000000002, 0.00000002, -0.00000001
w k f32 [] = 50000
w v f32 [64, 64]
a = MatMul(x, w)
b = Mul(a, k)
y = MatMul(b, v)
out y f32 [4, 64]
)", .full = {"w"}, .low = {"v"}},
    {.name = "AFewWeightsThatVanish", .text = R"(
opset 17
in x f32 [4, 4]
w w f32 [4, 4] = 0.00000001, -0.000000003, 0.000000002, 0.00000002, -0.00000001
w k f32 [] = 0.00000001
a = MatMul(x, w)
y = Div(a, k)
out y f32 [4, 4]
)", .full = {"w"}},
    // A bias of small numbers beside sums of ordinary size, and small numbers among others: nothing is lost that shows.
    {.name = "SmallNumbersThatDoNotShow", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16] = 0.5, 0.00000001, -0.25, 0.00000001
w b f32 [16] = 0.00000001, -0.00000001
a = MatMul(x, w)
c = Add(a, b)
y = Relu(c)
out y f32 [4, 16]
)", .low = {"w", "b"}},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Numerics, FieldModelTest, ::testing::ValuesIn(kModels), NameOfFieldModel);

using FieldWeights = FieldTest;

// Weights of a product beyond 65504 are clamped and counted, or stop the conversion; bf16 has them.
TEST_F(FieldWeights, BeyondTheRange) {
  const std::string text = R"(
opset 17
in x f32 [4, 2]
w w f32 [2, 600] = 1000000, 0.5, -70000, 1
w s f32 [] = 0.000001
a = MatMul(x, w)
b = Mul(a, s)
y = Relu(b)
out y f32 [4, 600]
)";
  Converts(text, {.dtype = "bf16"});
  Converts(text, {.near = false});
  EXPECT_THAT(Ok({"convert", "m.onnx", "-o", "o.onnx", "--no-sync"}), ::testing::HasSubstr("600 clamped"));
  ExpectFailure({"convert", "m.onnx", "-o", "o2.onnx", "--on-overflow", "error"}, 3, "'w'");
}

// The losses of small weights follow from --on-tiny.
TEST_F(FieldWeights, BelowTheSmallestNormalValue) {
  const std::string text = R"(
opset 17
in x f32 [4, 64]
w w f32 [64, 64] = 0.00002, -0.00003, 0.00001, 0.00004, -0.00002
w k f32 [] = 50000
a = MatMul(x, w)
y = Mul(a, k)
out y f32 [4, 64]
)";
  EXPECT_EQ(Converts(text).TypeOf("w"), 10);
  EXPECT_EQ(Converts(text, {.options = {"--on-tiny", "flush"}}).TypeOf("w"), 1);
}

// Constants are weights, too, where it is counted what becomes of them.
TEST_F(FieldWeights, SmallInitializersAreCounted) {
  Converts(R"(
opset 17
in x f32 [4, 4]
w w f32 [4, 4] = 0.5, 0.00000001, -0.25, 0.5
a = MatMul(x, w)
y = Relu(a)
out y f32 [4, 4]
)");
  EXPECT_THAT(Ok({"convert", "m.onnx", "-o", "o.onnx", "--no-sync"}),
              ::testing::HasSubstr("1 weights converted, 16 values: 0 clamped, 4 became zero, 0 subnormal"));
}

}  // namespace
}  // namespace ampc::testing
