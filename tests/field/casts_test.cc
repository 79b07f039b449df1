// Casts that were there, and those that a conversion adds (README.md, rows 13 to 25).
#include <algorithm>

#include "tests/field/field.h"

namespace ampc::testing {
namespace {

// clang-format off
const FieldModel kModels[] = {
    // Down and up again rounds: the model's own pair stays, and none is added around it.
    {.name = "TheModelsOwnPairsStay", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
h = Cast(a) to=f16
b = Cast(h) to=f32
c = MatMul(b, w)
d = Cast(c) to=f64
e = Cast(d) to=f32
y = Relu(e)
value h f16 [4, 16]
value b f32 [4, 16]
out y f32 [4, 16]
)", .lines = {"h = Cast(a)", "e = Cast(d)"}},
    {.name = "TwoOfTheSame", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
d1 = Cast(a) to=f16
d2 = Cast(a) to=f16
e1 = Cast(d1) to=f32
e2 = Cast(d2) to=f32
s = Add(e1, e2)
y = MatMul(s, w)
out y f32 [4, 16]
)", .lines = {"d2 = Cast(a)"}},
    {.name = "AnOutputThatIsACast", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
y = Cast(a) to=f16
z = Cast(x) to=f16
f = Cast(y) to=f32
out y f16 [4, 16]
out z f16 [4, 16]
out f f32 [4, 16]
)", .lines = {"y = Cast(a)"}},
    {.name = "FromBoolAndIntegers", .text = R"(
opset 17
in x f32 [4, 16]
in i i64 [4, 1]
w w f32 [16, 16]
w zero f32 [] = 0
a = MatMul(x, w)
m = Greater(a, zero)
f = Cast(m) to=f32
g = Cast(i) to=f32
b = Mul(a, f)
c = Mul(b, g)
y = MatMul(c, w)
out y f32 [4, 16]
)"},
    // A model that is fp16 in part.
    {.name = "PartlyLowModels", .text = R"(
opset 17
in x f32 [4, 16]
w h f16 [16, 16]
w w f32 [16, 16]
l = Cast(x) to=f16
a = MatMul(l, h)
b = Cast(a) to=f32
c = MatMul(b, w)
d = Cast(c) to=f16
y = Add(d, a)
value b f32 [4, 16]
out y f16 [4, 16]
)", .lines = {"a = MatMul(l, h)"}},
    {.name = "InputsAndOutputsOfFp16", .text = R"(
opset 17
in x f16 [4, 16]
w w f32 [16, 16]
f = Cast(x) to=f32
a = MatMul(f, w)
s = Softmax(a)
y = Cast(s) to=f16
out y f16 [4, 16]
)"},
    // An f64 part stays what it is, between casts that were there.
    {.name = "WiderTypesStay", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w two f64 [] = 2
a = MatMul(x, w)
d = Cast(a) to=f64
e = Mul(d, two)
f = Cast(e) to=f32
y = MatMul(f, w)
out y f32 [4, 16]
)"},
    // Values and nodes that have the names which the conversion would take.
    {.name = "NamesThatAreTaken", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w w.f16 f32 [16]
x.f16 = MatMul@ampc/x.f16(x, w)
a.f32 = Exp@ampc/e(x.f16)
a = Add(a.f32, w.f16)
b = MatMul(a, w)
c = Exp(w)
d = Sigmoid(w.f16)
e = Add(b, d)
y = MatMul(e, c)
out y f32 [4, 16]
)", .lines = {"x.f16.1 = Cast(x)"}},
    // The wrong type that another converter declared: the program is what its operators say.
    {.name = "ADeclarationThatIsNotSo", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
b = Cast(a) to=f16
c = Cast(b) to=f32
y = MatMul(c, w)
value a f32 [9, 16]
out y f32 [4, 16]
)"},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Casts, FieldModelTest, ::testing::ValuesIn(kModels), NameOfFieldModel);

using FieldCasts = FieldTest;

// Nothing becomes low, be it low already or protected: not a byte changes, and with the original beside it, strip leaves the user's casts
// alone.
TEST_F(FieldCasts, NothingToChange) {
  for (const std::string text : {R"(
opset 17
in x f16 [4, 16]
w w f16 [16, 16]
a = MatMul(x, w)
y = Softmax(a)
out y f16 [4, 16]
)",
                                 R"(
opset 17
in x f32 [4, 16]
w w f16 [16, 16]
h = Cast(x) to=f16
a = MatMul(h, w)
r = Softmax(a)
y = Cast(r) to=f32
out y f32 [4, 16]
)",
                                 R"(
opset 17
in x f32 [4, 16]
w e f32 [] = 1e-12
s = Add(x, e)
y = Sqrt(s)
out y f32 [4, 16]
)"}) {
    for (const std::string dtype : {"fp16", "bf16"}) {
      Converts(text, {.dtype = dtype, .near = false});
      const bool has_range = dtype == "bf16" && text.find("1e-12") != std::string::npos;
      EXPECT_TRUE(has_range || Read("low.onnx") == Read("m.onnx")) << dtype << text;
    }
  }
}

// Three readers, two precisions, and the value is an output, too.
TEST_F(FieldCasts, OneCastForAllReaders) {
  const std::string text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
e = Exp(a)
b = MatMul(a, w)
c = Add(e, b)
h = Cast(a) to=f16
y = Add(c, e)
out y f32 [4, 16]
out a f32 [4, 16]
out h f16 [4, 16]
)";
  const Converted low = Converts(text);
  EXPECT_EQ(low.Casts().find("a.f16 -> a"), low.Casts().rfind("a.f16 -> a"));
  EXPECT_EQ(low.Line("e"), "e = Exp(a)");
  EXPECT_EQ(low.Line("a"), "a = Cast(a.f16)");
  Converts(text, {.dtype = "bf16"});
}

// Fusions look through what a conversion leaves.
TEST_F(FieldCasts, PatternsAreFoundThroughCasts) {
  Converts(R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w root f32 [] = 1.4142135
w one f32 [] = 1
w half f32 [] = 0.5
a = MatMul(x, w)
d = Div(a, root)
e = Erf(d)
f = Add(e, one)
g = Mul(a, f)
h = Mul(g, half)
y = MatMul(h, w)
out y f32 [4, 16]
)");
  // A cast, the product with or without its activation, the other product: a line each.
  const std::string steps = Ampc({"run", "low.onnx", "--input", "in.npz", "--verbose"}).err;
  EXPECT_LE(std::count(steps.begin(), steps.end(), '\n'), 4) << steps;
  EXPECT_THAT(steps, ::testing::Not(::testing::HasSubstr("  erf  "))) << steps;
}

}  // namespace
}  // namespace ampc::testing
