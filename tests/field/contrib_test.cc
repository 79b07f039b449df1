// Operators that ONNX Runtime's optimizer and quantizers write: converted like those that they stand for; what is quantised stays as it is.
#include "tests/field/field.h"

namespace ampc::testing {
namespace {

// clang-format off
const FieldModel kModels[] = {
    {.name = "FusedConvolutions", .text = R"(
opset 17
opset com.microsoft 1
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
w b f32 [3] = 0.5
a = com.microsoft.FusedConv(x, w, b) activation="Relu"
y = com.microsoft.FusedConv(a, w, b, a) activation="LeakyRelu" activation_params=[0.5]
out y f32 [1, 3, 8, 8]
)", .lines = {"y.f16 = FusedConv(a, w, b, a)"}, .low = {"w", "b"}},
    {.name = "LayersOfATransformer", .text = R"(
opset 17
opset com.microsoft 1
in x f32 [2, 4, 16]
w mask i32 [2, 4] = 1
w w f32 [16, 48]
w b f32 [48] = 0.25
w v f32 [16, 16]
w g f32 [16] = 1
a = com.microsoft.Attention(x, w, b, mask) num_heads=2
c, _, _, d = com.microsoft.SkipLayerNormalization(a, x, g, g) epsilon=0.001
e = com.microsoft.FusedMatMul(c, v) alpha=0.5
f = com.microsoft.BiasGelu(e, g)
y = com.microsoft.SkipSimplifiedLayerNormalization(f, d, g)
out y f32 [2, 4, 16]
)", .lines = {"a = Attention(x.f16, w, b, mask)", "f = BiasGelu(e, g)"}, .low = {"w", "v", "g"}},
    {.name = "AttentionWithACache", .text = R"(
opset 17
opset com.microsoft 1
in x f32 [1, 2, 16]
in k f32 [1, 2, 3, 4]
in v f32 [1, 2, 3, 4]
w wq f32 [16, 16]
w wk f32 [16, 8]
w lengths i32 [1] = 4
w total i32 [] = 5
q = MatMul(x, wq)
kv = MatMul(x, wk)
y, pk, pv = com.microsoft.GroupQueryAttention(q, kv, kv, k, v, lengths, total) num_heads=4 kv_num_heads=2
out y f32 [1, 2, 16]
out pk f32 [1, 2, 5, 4]
out pv f32 [1, 2, 5, 4]
)", .low = {"wq", "wk"}},
    {.name = "QuantisedPartsStay", .text = R"(
opset 17
opset com.microsoft 1
in x f32 [2, 4]
w w f32 [4, 4]
w s f32 [] = 0.0625
w z u8 [] = 128
w q u8 [4, 4] = 130, 127, 120, 140
w packed u8 [4, 1, 8] = 17, 136
w scales f32 [4, 1] = 0.25
a = MatMul(x, w)
aq = com.microsoft.QuantizeLinear(a, s, z)
bq = com.microsoft.QLinearAdd(aq, s, z, aq, s, z, s, z)
b = com.microsoft.DequantizeLinear(bq, s, z)
c = com.microsoft.DynamicQuantizeMatMul(b, q, s, z)
d = com.microsoft.MatMulNBits(c, packed, scales) K=4 N=4 bits=4 block_size=16
y = MatMul(d, w)
out y f32 [2, 4]
)", .lines = {"c = DynamicQuantizeMatMul(b, q, s, z)"}, .full = {"s", "scales"}, .low = {"w"}},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Contrib, FieldModelTest, ::testing::ValuesIn(kModels), NameOfFieldModel);

using FieldContrib = FieldTest;

// A model that was written for one machine is carried, and not executed.
TEST_F(FieldContrib, TheLevelAllNamesItself) {
  Converts(R"(
opset 17
opset com.microsoft.nchwc 1
in x f32 [1, 16, 4, 4]
w w f32 [16, 16, 1, 1]
a = com.microsoft.nchwc.Conv(x, w)
b = Relu(a)
y = Conv(b, w)
out y f32 [1, 16, 4, 4]
)",
           {.runs = false});
  ExpectFailure({"bench", "m.onnx"}, 4, "optimisation level 'all'");
}

// An op that nothing describes is named, not the one behind it, whose operand's rank it leaves open.
TEST_F(FieldContrib, WhatCannotBeExecutedIsNamed) {
  Converts(R"(
opset 17
opset mine 1
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
b = mine.Op(a)
c = Softmax(b)
y = MatMul(c, w)
out y f32 [4, 16]
)",
           {.runs = false});
  ExpectFailure({"bench", "m.onnx"}, 4, "op 'mine.Op' -> 'b': no record describes this op");
}

}  // namespace
}  // namespace ampc::testing
