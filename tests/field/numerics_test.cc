// Numbers that a low type does not have, and sums that it cannot hold (README.md, rows 42 to 54).
#include "tests/field/field.h"

namespace ampc::testing {
namespace {

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
};
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

}  // namespace
}  // namespace ampc::testing
