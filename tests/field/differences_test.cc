// Losses where large values meet: exponentials, and differences of feeds.
#include <gtest/gtest.h>

#include "tests/field/field.h"

namespace ampc::testing {
namespace {

// clang-format off
const FieldModel kModels[] = {
    {.name = "ExponentialsThatAreDivided", .text = R"(
opset 17
in x f32 [4, 16]
w k f32 [] = 20
w one f32 [] = 1
a = Abs(x)
s = Mul(a, k)
e = Exp(s)
t = Add(e, one)
l = Log(t)
r = Div(e, t)
n = Neg(s)
i = Exp(n)
u = Sub(e, i)
v = Add(e, i)
h = Div(u, v)
out l f32 [4, 16]
out r f32 [4, 16]
out h f32 [4, 16]
)", .lines = {"t = Add(e, one)", "r = Div(e, t)", "u = Sub(e, i)"}},
    {.name = "ExponentialsThatAreWeighted", .text = R"(
opset 17
in x f32 [4, 16]
in v f32 [4, 16]
w k f32 [] = 20
a = Abs(x)
s = Mul(a, k)
e = Exp(s)
p = Mul(e, v)
n = ReduceSum(p) keepdims=1
d = ReduceSum(e) keepdims=1
y = Div(n, d)
out y f32 [1, 1]
)", .lines = {"p = Mul(e, v)"}},
    // At most 1: what reads it needs no more.
    {.name = "ExponentialsOfDistances", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
m = ReduceMax(a) axes=[1] keepdims=1
d = Sub(a, m)
e = Exp(d)
y = MatMul(e, w)
z = Add(e, a)
u = MatMul(z, w)
out y f32 [4, 16]
out u f32 [4, 16]
)", .lines = {"z = Add(e.f16, a)"}},
    {.name = "FeedsThatAreCentred", .text = R"(
opset 17
in x f32 [4, 16]
w k f32 [] = 0.001
w mean f32 [] = 1013
w std f32 [] = 0.01
w w f32 [16, 16]
a = Mul(x, std)
b = Add(a, mean)
c = Sub(b, mean)
d = Div(c, k)
y = MatMul(d, w)
out y f32 [4, 16]
)", .lines = {"b = Add(a, mean)", "c = Sub(b, mean)"}, .low = {"w"}},
    {.name = "DifferencesOfAFeed", .text = R"(
opset 17
in x f32 [4, 16]
w far f32 [] = 5000
w w f32 [15, 16]
w first i64 [1] = 0
w second i64 [1] = 1
w last i64 [1] = 15
w end i64 [1] = 16
w axis i64 [1] = 1
b = Add(x, far)
p = Slice(b, second, end, axis)
q = Slice(b, first, last, axis)
d = Sub(p, q)
y = MatMul(d, w)
out y f32 [4, 16]
)", .lines = {"p = Slice(b, second, end, axis)", "d = Sub(p, q)"}, .low = {"w"}},
    {.name = "ABatchNormOfAFeed", .text = R"(
opset 17
in x f32 [4, 16]
w scale f32 [] = 0.1
w far f32 [] = 1000
w g f32 [16] = 1
w b f32 [16] = 0.1
w m f32 [16] = 1000
w v f32 [16] = 0.01
w w f32 [16, 16]
a = Mul(x, scale)
c = Add(a, far)
n = BatchNormalization(c, g, b, m, v)
y = MatMul(n, w)
out y f32 [4, 16]
)", .lines = {"n = BatchNormalization(c, g, b, m, v)"}, .low = {"w"}},
    // Pixels, whose deviation is about as large as their mean.
    {.name = "ABatchNormOfPixels", .text = R"(
opset 17
in x f32 [4, 16]
w g f32 [16] = 1
w b f32 [16] = 0.1
w m f32 [16] = 120
w v f32 [16] = 3600
w w f32 [16, 16]
n = BatchNormalization(x, g, b, m, v)
y = MatMul(n, w)
out y f32 [4, 16]
)", .lines = {"n = BatchNormalization(x.f16, g, b, m, v)"}, .low = {"w"}},
    // An image between 0 and 1 loses nothing.
    {.name = "ImagesAreCentredInFp16", .text = R"(
opset 17
in x f32 [4, 16]
w mean f32 [] = 0.485
w w f32 [16, 16]
c = Sub(x, mean)
y = MatMul(c, w)
out y f32 [4, 16]
)", .low = {"w", "mean"}},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Differences, FieldModelTest, ::testing::ValuesIn(kModels), NameOfFieldModel);

}  // namespace
}  // namespace ampc::testing
