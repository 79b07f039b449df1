// Operands, attributes and versions that take no low type (README.md, rows 1 to 12).
#include "tests/field/field.h"

namespace ampc::testing {
namespace {

// clang-format off
const FieldModel kModels[] = {
    // ONNX Runtime has no f16 for them.
    {.name = "ScatterNDWithAMaximum", .text = R"(
opset 18
in x f32 [4, 16]
w w f32 [16, 16]
w at i64 [2, 1] = 0, 2
w u f32 [2, 16]
a = MatMul(x, w)
y = ScatterND(a, at, u) reduction="max"
z = ScatterND(a, at, u)
out y f32 [4, 16]
out z f32 [4, 16]
)", .lines = {"y = ScatterND(a.f32, at, u)"}, .low = {"w"}},
    {.name = "ResizeOfSet10", .text = R"(
opset 10
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
w scales f32 [4] = 1, 1, 2, 2
a = Conv(x, w)
y = Resize(a, scales) mode="linear"
out y f32 [1, 3, 16, 16]
)"},
    {.name = "UpsampleOfSet9", .text = R"(
opset 9
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
w scales f32 [4] = 1, 1, 2, 2
a = Conv(x, w)
b = Upsample(a, scales) mode="nearest"
y = Conv(b, w)
out y f32 [1, 3, 16, 16]
)"},
    {.name = "UpsampleOfSet8", .text = R"(
opset 8
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
a = Conv(x, w)
b = Upsample(a) mode="linear" scales=[1.0, 1.0, 2.0, 2.0]
y = Conv(b, w)
out y f32 [1, 3, 16, 16]
)"},
    {.name = "NonMaxSuppression", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 4]
w w2 f32 [16, 1]
w s1 i64 [3] = 1, 4, 4
w s2 i64 [3] = 1, 1, 4
w most i64 [1] = 10
w overlap f32 [1] = 0.5
w least f32 [1] = 0.01
w rows i64 [2] = 0, 2
b = MatMul(x, w)
boxes = Reshape(b, s1)
s = MatMul(x, w2)
p = Sigmoid(s)
scores = Reshape(p, s2)
chosen = NonMaxSuppression(boxes, scores, most, overlap, least)
g = Gather(b, rows) axis=0
y = Relu(g)
out chosen i64 [?, 3]
out y f32 [2, 4]
)"},
    {.name = "TopKAndCumSum", .text = R"(
opset 17
in x f32 [2, 4]
w w f32 [4, 4] = 4, 0, 0, 0, 0
w k i64 [1] = 2
w axis i64 [] = 1
w w2 f32 [2, 4]
a = MatMul(x, w)
v, i = TopK(a, k)
c = CumSum(v, axis)
f = Cast(i) to=f32
d = Add(c, f)
y = MatMul(d, w2)
out y f32 [2, 4]
out i i64 [2, 2]
)"},
    {.name = "RangeOfFloats", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w zero f32 [] = 0
w end f32 [] = 16
w one f32 [] = 1
r = Range(zero, end, one)
a = MatMul(x, w)
y = Add(a, r)
out y f32 [4, 16]
)"},
    {.name = "TypesInAttributes", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w shape i64 [2] = 4, 16
a = MatMul(x, w)
e = EyeLike(a) dtype=f32
k = ConstantOfShape(shape) value=f32[1]{0.5}
b = Add(a, e)
c = Mul(b, k)
y = MatMul(c, w)
out y f32 [4, 16]
)"},
    {.name = "LikeAnother", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
r = RandomNormalLike(a) scale=1e-7 mean=1.0 dtype=f32
l = RandomNormalLike(a) scale=1e-7 mean=1.0
b = Mul(a, r)
c = Mul(b, l)
y = MatMul(c, w)
value r f32 [4, 16]
out y f32 [4, 16]
)"},
    {.name = "WindowsHaveATypeOfTheirOwn", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w n i64 [] = 16
a = MatMul(x, w)
h = HannWindow(n) output_datatype=1
y = Mul(a, h)
out y f32 [4, 16]
)"},
    {.name = "EpsilonAndItsPartner", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w eps f32 [] = 0.0001
a = MatMul(x, w)
b = Abs(a)
c = Add(b, eps)
d = Div(a, c)
y = MatMul(d, w)
out y f32 [4, 16]
)"},
    {.name = "OptionalOperandsInTheMiddle", .text = R"(
opset 17
in x f32 [4, 16]
in s f32 [3, 4, 16]
w w f32 [16, 16]
w most f32 [] = 1
w lw f32 [1, 16, 16]
w lr f32 [1, 16, 4]
w h0 f32 [1, 4, 4]
w c0 f32 [1, 4, 4]
a = MatMul(x, w)
b = Clip(a, , most)
_, h = LSTM(s, lw, lr, , , h0, c0) hidden_size=4
y = Dropout(b)
out y f32 [4, 16]
out h f32 [1, 4, 4]
)"},
    {.name = "ScalesAndRegionsOfResizeStayFp32", .text = R"(
opset 13
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
w region f32 [8] = 0, 0, 0.25, 0.25, 1, 1, 0.75, 0.75
w scales f32 [4] = 1, 1, 2, 2
a = Conv(x, w)
y = Resize(a, region, scales) mode="linear" coordinate_transformation_mode="tf_crop_and_resize"
out y f32 [1, 3, 16, 16]
)", .full = {"scales"}, .low = {"w"}},
    {.name = "OperandsThatAreLeftOutKeepTheirPlaces", .text = R"(
opset 13
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
w sizes i64 [4] = 1, 3, 16, 16
a = Conv(x, w)
b = Resize(a, , , sizes) mode="nearest"
y = Relu(b)
out y f32 [1, 3, 16, 16]
)", .lines = {"b = Resize(a, , , sizes)"}},
    // A call of the model's own function stays as it is, in fp32, and is executed.
    {.name = "CallsOfLocalFunctions", .text = R"(
opset 17
opset mine 1
function mine.Lin(a, b; alpha) -> c {
  opset 18
  t = MatMul(a, b)
  k = Constant() value_float=@alpha:f
  u = Mul(t, k)
  c = ReduceMax(u) keepdims=1
}
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
b = mine.Lin(a, w) alpha=0.5
c = MatMul(x, w)
y = Add(b, c)
out y f32 [4, 16]
)", .lines = {"b = Lin(a.f32, w)"}, .full = {"w"}},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Slots, FieldModelTest, ::testing::ValuesIn(kModels), NameOfFieldModel);

using FieldSlots = FieldTest;

// An operator whose later version has the type: the version counts, not the name.
TEST_F(FieldSlots, TheVersionDecides) {
  const std::string text = R"(
in x f32 [4, 16]
w w f32 [16, 16]
w k i64 [1] = 3
a = MatMul(x, w)
v, i = TopK(a, k)
e = Erf(a)
out v f32 [4, 3]
out e f32 [4, 16]
)";
  EXPECT_EQ(Converts("opset 11" + text).Casts(), "x -> x.f16 v.f16 -> v e.f16 -> e");
  // bf16 came to MatMul and TopK in different versions; what the set does not have stays fp32 behind a cast.
  Converts("opset 13" + text, {.dtype = "bf16"});
}

// Multinomial has a type attribute, but gives integers.
TEST_F(FieldSlots, IntegersOfATypeAttributeStay) {
  const Converted low = Converts(R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
i = Multinomial(a) sample_size=2 dtype=i32
b = Bernoulli(a) dtype=i64
y = Relu(a)
out y f32 [4, 16]
out i i32 [4, 2]
out b i64 [4, 16]
)",
                                 {.near = false});
  EXPECT_EQ(low.Line("y.f16"), "y.f16 = Relu(a)");
}

// An opaque node's result that nothing declares: its reader says what it is, by the operand beside it.
TEST_F(FieldSlots, AnUndeclaredValueHasTheTypeOfItsPartner) {
  const std::string text = R"(
opset 17
opset com.microsoft 1
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
b = com.microsoft.FusedGelu(a)
c = Relu(b)
d = MatMul(c, w)
e = com.microsoft.FusedGelu(d)
f = com.microsoft.FusedGelu(e)
y = Relu(f)
out y f32 [4, 16]
)";
  const Converted low = Converts(text, {.runs = false});
  EXPECT_EQ(low.Line("d"), "d = MatMul(c.f16, w)");
  EXPECT_EQ(low.Line("f"), "f = FusedGelu(e)");
  Converts(text, {.dtype = "bf16", .runs = false});
}

// And where nothing says it, the reader stays as it is.
TEST_F(FieldSlots, AValueOfUnknownTypeIsLeftAlone) {
  const Converted low = Converts(R"(
opset 17
opset mine 1
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
b = mine.Op(a)
c = Abs(b)
d = mine.Op(c)
y = MatMul(x, w)
z = mine.Op(d)
out y f32 [4, 16]
out z f32 [4, 16]
)",
                                 {.runs = false});
  EXPECT_EQ(low.Line("c"), "c = Abs(b)");
}

// The error of an operand that an operator cannot take names the operator, the operand and the types.
TEST_F(FieldSlots, MixedOperandsAreRefused) {
  Converts(R"(
opset 17
in x f32 [4, 16]
w w f32 [16]
y = Add(x, w)
out y f32 [4, 16]
)");
  std::string bytes = Read("m.onnx");
  const size_t type = bytes.find("\x10\x01\x42\x01w");  // of w: f16, and so it has twice as many elements
  ASSERT_NE(type, std::string::npos);
  bytes[type + 1] = 10;
  bytes[type - 1] = 32;
  Write("mixed.onnx", bytes);
  ExpectFailure({"convert", "mixed.onnx", "-o", "o.onnx"}, 3, "'w'");
}

}  // namespace
}  // namespace ampc::testing
