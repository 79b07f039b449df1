// Positions, phases, counts and powers: values whose last digits matter however large they are (README.md).
#include "tests/field/field.h"

namespace ampc::testing {
namespace {

// clang-format off
const FieldModel kModels[] = {
    {.name = "RotaryPositionsByMatMul", .text = R"(
opset 17
in ids i64 [1, 6]
in x f32 [1, 6, 16]
w base i64 [] = 2900
w at i64 [1] = 1
w inv f32 [1, 16, 1] = 1, 0.7, 0.3, 0.1
w w f32 [16, 16]
n = Add(ids, base)
u = Unsqueeze(n, at)
p = Cast(u) to=f32
f = MatMul(inv, p)
t = Transpose(f) perm=[0, 2, 1]
c = Cos(t)
s = Sin(t)
h = MatMul(x, w)
hc = Mul(h, c)
hs = Mul(h, s)
y = Add(hc, hs)
out y f32 [1, 6, 16]
)", .lines = {"f = MatMul(inv, p)"}, .full = {"inv"}, .low = {"w"}},
    {.name = "RotaryPositionsByMul", .text = R"(
opset 17
in mask i64 [1, 3000]
in x f32 [1, 3000, 16]
w one i64 [] = 1
w at i64 [1] = 2
w inv f32 [16] = 1, 0.7, 0.3, 0.1
w w f32 [16, 16]
n = CumSum(mask, one)
m = Sub(n, one)
p = Cast(m) to=f32
u = Unsqueeze(p, at)
f = Mul(u, inv)
c = Cos(f)
h = MatMul(x, w)
y = Mul(h, c)
out y f32 [1, 3000, 16]
)", .full = {"inv"}, .low = {"w"}},
    {.name = "TimestepsOfDiffusion", .text = R"(
opset 17
in t f32 [3]
in x f32 [3, 16]
w at i64 [1] = 1
w k f32 [] = 1000
w fr f32 [1, 8] = 1, 0.7498942, 0.56234133
w w f32 [16, 16]
ms = Mul(t, k)
u = Unsqueeze(ms, at)
a = Mul(u, fr)
s = Sin(a)
c = Cos(a)
e = Concat(c, s) axis=-1
h = MatMul(e, w)
y = Add(h, x)
out y f32 [3, 16]
)", .full = {"k", "fr"}, .low = {"w"}},
    {.name = "PhaseOfAnOscillator", .text = R"(
opset 17
in f0 f32 [1, 3000]
in x f32 [1, 16]
w at i64 [] = 1
w rate f32 [] = 0.125
w tau f32 [] = 6.2831855
w w f32 [16, 3000]
h = MatMul(x, w)
a = Abs(h)
f = Add(a, f0)
r = Mul(f, rate)
c = CumSum(r, at)
d = Add(c, r)
p = Mul(d, tau)
s = Sin(p)
out s f32 [1, 3000]
)", .low = {"w"}},
    {.name = "Remainders", .text = R"(
opset 17
in t f32 [1, 64]
in x f32 [1, 16]
w k f32 [] = 370.37
w one f32 [] = 1
w w f32 [16, 16]
p = Mul(t, k)
f = Mod(p, one) fmod=1
y = MatMul(x, w)
out f f32 [1, 64]
out y f32 [1, 16]
)", .full = {"k"}, .low = {"w"}},
    {.name = "FractionsByFloor", .text = R"(
opset 17
in t f32 [1, 64]
in x f32 [1, 16]
w k f32 [] = 370.37
w w f32 [16, 16]
p = Mul(t, k)
q = Floor(p)
f = Sub(p, q)
y = MatMul(x, w)
out f f32 [1, 64]
out y f32 [1, 16]
)", .lines = {"q = Floor(p)", "f = Sub(p, q)"}, .full = {"k"}, .low = {"w"}},
    {.name = "FractionsOfAPeriod", .text = R"(
opset 17
in t f32 [1, 64]
in x f32 [1, 16]
w k f32 [] = 370.37
w n f32 [] = 0.7
w w f32 [16, 16]
p = Mul(t, k)
d = Div(p, n)
i = Cast(d) to=i64
q = Cast(i) to=f32
m = Mul(q, n)
f = Sub(p, m)
y = MatMul(x, w)
out f f32 [1, 64]
out y f32 [1, 16]
)", .lines = {"f = Sub(p, m)"}, .full = {"k", "n"}, .low = {"w"}},
    {.name = "FeaturesOfCoordinates", .text = R"(
opset 17
in x f32 [4, 3]
w b f32 [3, 16] = 300.3, -170.7, 90.9, 500.1, -33.3
w w f32 [16, 16]
a = MatMul(x, b)
s = Sin(a)
y = MatMul(s, w)
out y f32 [4, 16]
)", .lines = {"a = MatMul(x, b)"}, .full = {"b"}, .low = {"w"}},
    // The sine as a network's function: products with weights stay low.
    {.name = "LayersOfSines", .text = R"(
opset 17
in x f32 [4, 16]
w k f32 [] = 3
w w f32 [16, 16]
w v f32 [16, 16]
a = MatMul(x, w)
b = Mul(a, k)
c = Sin(b)
d = MatMul(c, v)
e = Mul(d, k)
f = Sin(e)
g = Add(f, c)
h = Add(g, d)
i = Mul(h, k)
j = Sin(i)
y = MatMul(j, w)
out y f32 [4, 16]
)", .lines = {"a = MatMul(x.f16, w)", "b = Mul(a.f32, k)"}, .low = {"w", "v"}},
    {.name = "ALoopThatCounts", .text = R"(
opset 17
in x f32 [1, 16]
w w f32 [16, 16]
w v f32 [16, 16] = 0.03, -0.05, 0.02
w n i64 [] = 3000
w zero f32 [] = 0
w one f32 [] = 1
a = MatMul(x, w)
y, c = Loop(n, , a, zero) body={
  in i i64 []
  in go bool []
  in s f32 [1, 16]
  in k f32 []
  on = Identity(go)
  q = MatMul(s, v)
  b = Add(q, x)
  t = Tanh(b)
  k2 = Add(k, one)
  out on bool []
  out t f32 [1, 16]
  out k2 f32 []
}
out y f32 [1, 16]
out c f32 []
)", .lines = {"k2 = Add(k, one)"}, .low = {"w", "v"}},
    {.name = "AScanThatAddsUp", .text = R"(
opset 17
in x f32 [3000, 1, 16]
w w f32 [16, 16]
w s0 f32 [1, 16] = 0
w m0 f32 [1, 16] = 0
w keep f32 [] = 0.9995
y, m, r = Scan(s0, m0, x) num_scan_inputs=1 body={
  in s f32 [1, 16]
  in a f32 [1, 16]
  in e f32 [1, 16]
  q = MatMul(e, w)
  b = Abs(q)
  s2 = Add(s, b)
  d = Mul(a, keep)
  a2 = Add(d, b)
  o = Relu(q)
  out s2 f32 [1, 16]
  out a2 f32 [1, 16]
  out o f32 [1, 16]
}
out y f32 [1, 16]
out m f32 [1, 16]
out r f32 [3000, 1, 16]
)", .lines = {"d = Mul(a, keep)"}, .low = {"w"}},
    {.name = "LengthsThatAreCompared", .text = R"(
opset 17
in x f32 [1, 8, 16]
in l i64 [1]
w base i64 [] = 5003
w half f32 [] = 0.5
w k f32 [] = 2501.6
w w f32 [16, 16]
n = Add(l, base)
f = Cast(n) to=f32
b = Mul(f, half)
m = Less(b, k)
c = Cast(m) to=f32
h = MatMul(x, w)
y = Mul(h, c)
out y f32 [1, 8, 16]
)", .lines = {"b = Mul(f, half)"}, .full = {"half"}, .low = {"w"}},
    {.name = "LengthsThatDivide", .text = R"(
opset 17
in x f32 [2, 16]
in l i64 [2, 1]
w base i64 [] = 70000
w w f32 [16, 16]
n = Add(l, base)
f = Cast(n) to=f32
h = MatMul(x, w)
d = Div(h, f)
out d f32 [2, 16]
)", .low = {"w"}},
    // Sums of ones and zeros are no larger than what they count, and what they are multiplied with is the network's.
    {.name = "AMaskOfIntegersIsNoCount", .text = R"(
opset 17
in x f32 [1, 8, 16]
in m i64 [1, 8]
w at i64 [1] = 2
w w f32 [16, 16]
u = Unsqueeze(m, at)
f = Cast(u) to=f32
h = MatMul(x, w)
k = Mul(h, f)
y = MatMul(k, w)
out y f32 [1, 8, 16]
)", .lines = {"k = Mul(h, f.f16)"}, .low = {"w"}},
    // The front of a speech model, without the model.
    {.name = "ASpectrumAlone", .text = R"(
opset 17
in x f32 [1, 1, 160]
w k f32 [] = 0.0001
w wr f32 [8, 1, 40]
w wi f32 [8, 1, 40] = 0.1, -0.2, 0.3, 0.05, -0.07
w fb f32 [4, 8] = 0.01, 0.3, 0.1
w eps f32 [] = 1e-10
s = Mul(x, k)
re = Conv(s, wr) strides=[20]
im = Conv(s, wi) strides=[20]
r2 = Mul(re, re)
i2 = Mul(im, im)
p = Add(r2, i2)
mel = MatMul(fb, p)
cl = Max(mel, eps)
y = Log(cl)
out y f32 [1, 4, 7]
)", .lines = {"re = Conv(s, wr)", "mel = MatMul(fb, p)"}, .full = {"wr", "wi", "fb"}},
    // Boxes in pixels, as what removes the overlapping ones compares them.
    {.name = "AreasOfBoxes", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 4] = 0.5, -0.25, 0.75, 0.3, -0.4
w size f32 [] = 700
w one f32 [] = 1
b = MatMul(x, w)
c = Mul(b, size)
x1, y1, x2, y2 = Split(c) axis=1
w0 = Sub(x2, x1)
h = Sub(y2, y1)
area = Mul(w0, h)
a = Abs(area)
t = Add(a, one)
y = Div(area, t)
out y f32 [4, 1]
)", .lines = {"area = Mul(w0.f32, h.f32)", "t = Add(a, one)", "y = Div(area, t)"}, .low = {"w"}},
    {.name = "AreasOfStretchedAnchors", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 2]
w anchor f32 [] = 400
d = MatMul(x, w)
dx, dy = Split(d) axis=1
ex = Exp(dx)
ey = Exp(dy)
w0 = Mul(ex, anchor)
h = Mul(ey, anchor)
area = Mul(w0, h)
y = Sqrt(area)
out y f32 [4, 1]
)", .lines = {"w0 = Mul(ex, anchor)", "area = Mul(w0, h)", "y = Sqrt(area)"}, .low = {"w"}},
    {.name = "ACovariance", .text = R"(
opset 17
in x f32 [4, 8192]
w k f32 [] = 20
w n f32 [] = 8191
c = Mul(x, k)
t = Transpose(c) perm=[1, 0]
g = MatMul(c, t)
y = Div(g, n)
out y f32 [4, 4]
)", .lines = {"g = MatMul(c.f32, t.f32)", "y = Div(g, n)"}},
    // The places come in pixels, and go in units of half the image.
    {.name = "AnImageAlongAFlow", .text = R"(
opset 16
in x f32 [1, 2, 64, 64]
in f f32 [1, 64, 64, 2]
w at f32 [1, 64, 64, 2] = 3, 40, 59, 17, 31, 8
w unit f32 [] = 0.031746
w one f32 [] = 1
a = Add(at, f)
b = Mul(a, unit)
c = Sub(b, one)
y = GridSample(x, c)
out y f32 [1, 2, 64, 64]
)", .lines = {"a = Add(at, f)", "b = Mul(a, unit)", "c = Sub(b, one)"}, .full = {"at", "unit"}},
    {.name = "SumsOfQuantisedProducts", .text = R"(
opset 17
in x f32 [4, 256]
w q u8 [256, 16] = 200, 100, 250, 30
w scale f32 [] = 0.0078125
w b f32 [16]
qx, sx, zx = DynamicQuantizeLinear(x)
i = MatMulInteger(qx, q, zx)
f = Cast(i) to=f32
s = Mul(sx, scale)
p = Mul(f, s)
y = Add(p, b)
out y f32 [4, 16]
)", .lines = {"s = Mul(sx, scale)", "p = Mul(f, s)"}},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Positions, FieldModelTest, ::testing::ValuesIn(kModels), NameOfFieldModel);

}  // namespace
}  // namespace ampc::testing
