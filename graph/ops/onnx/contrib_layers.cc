// Operators that ONNX Runtime's optimizer makes of activations, embeddings and normalisations with their neighbours.
#include <optional>
#include <vector>

#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/layout_util.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/norm_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

constexpr const char* kSumReason =
    "the sum may be low as in Add; mean and squares are summed in fp32, where 256 elements of 16 are 65536 and beyond f16";

Var* Added(Lowering& l, Var* x, const char* formal) { return l.Has(formal) ? l.Binary("elementwise_add", x, l.In(formal)) : x; }

// Gelu, by tanh for FastGelu, of X, or of A + B.
void LowerBiasGelu(Lowering& l) {
  const absl::string_view type = TypeName(l.op().def());
  const bool pair = type == "com.microsoft.BiasGelu";
  Var* x = pair ? Added(l, l.In("A"), "B") : Added(l, l.In("X"), "bias");
  l.Result(pair ? "C" : "Y", Map(l, "gelu", x, {{"approximate", type == "com.microsoft.FastGelu"}}));
}

void LowerQuickGelu(Lowering& l) { l.Result("Y", Map(l, "swish", l.In("X"), {{"beta", static_cast<float>(l.GetFloat("alpha"))}})); }

// The first half times the gelu of the second.
void LowerBiasSplitGelu(Lowering& l) {
  Var* x = Added(l, l.In("X"), "bias");
  const std::vector<Var*> halves = l.OpList("split", {{"X", x}}, {{"num", 2}, {"axis", 2}}, "Out", 2);
  l.Result("Y", l.Binary("elementwise_mul", halves[0], Map(l, "gelu", halves[1])));
}

void LowerBiasAdd(Lowering& l) { l.Result("Y", Added(l, Added(l, l.In("X"), "bias"), "skip")); }

void LowerBiasSoftmax(Lowering& l) {
  Var *x = l.In("data"), *bias = l.In("bias");
  const int64_t axis = AxisOf(l, x, l.GetInt("axis"));
  const int rank = l.Rank(x), bias_rank = l.Rank(bias);
  if (!l.ok()) return;
  // Dims of x from the axis on are one row; the bias has the batch's first dims, or repeats over them.
  if (l.GetInt("is_inner_broadcast") != 0 && bias_rank < rank) {
    const int64_t missing = rank - bias_rank;
    bias = l.Unsqueeze(bias, AxisRange(axis - missing, axis));
  }
  Var* sum = l.Binary("elementwise_add", x, bias);
  if (axis == rank - 1) return l.Result("output", Map(l, "softmax", sum, {{"axis", -1}}));
  const std::optional<std::vector<int64_t>> shape = l.Shape(sum);
  if (!shape.has_value()) return;
  int64_t row = 1;
  for (int64_t i = axis; i < rank; ++i) row *= (*shape)[i];
  l.Result("output", l.Reshape(Map(l, "softmax", l.Reshape(sum, {-1, row}), {{"axis", -1}}), *shape));
}

// Normalisations.

void LowerSkipNormalization(Lowering& l) {
  const bool rms = TypeName(l.op().def()) == "com.microsoft.SkipSimplifiedLayerNormalization";
  Var* sum = Added(l, l.Binary("elementwise_add", l.In("input"), l.In("skip")), "bias");
  const int rank = l.Rank(sum);
  if (rank < 1) return;
  const double epsilon = l.GetFloat("epsilon");
  Var* beta = l.Has("beta") ? l.In("beta") : nullptr;
  const bool statistics = l.WantsResult("mean") || l.WantsResult("inv_std_var");
  const Normalized n = rms ? RmsNormalized(l, sum, l.In("gamma"), rank - 1, epsilon)
                           : LayerNormalized(l, sum, l.In("gamma"), beta, rank - 1, epsilon, statistics);
  l.Result("output", n.y);
  if (l.WantsResult("mean") && n.mean == nullptr) return l.Unsupported("a normalisation by the root of squares has no mean");
  l.Result("mean", n.mean);
  l.Result("inv_std_var", n.inverse);
  l.Result("input_skip_bias_sum", sum);
}

// 0, 1, ... along dim 1, for each row of `like`.
Var* Positions(Lowering& l, Var* like) {
  Var* counted = Map(l, "cumsum", Filled(l, like, 1, like->type.dtype), {{"axis", 1}});
  return WithNumber(l, "elementwise_sub", counted, 1);
}

void LowerEmbedLayerNormalization(Lowering& l) {
  Var* ids = l.In("input_ids");
  Var* position = l.Has("position_ids") ? l.In("position_ids") : Positions(l, ids);
  Var* sum = l.Binary("elementwise_add", Take(l, l.In("word_embedding"), {ids}, 0), Take(l, l.In("position_embedding"), {position}, 0));
  if (l.Has("segment_ids") && l.Has("segment_embedding")) {
    sum = l.Binary("elementwise_add", sum, Take(l, l.In("segment_embedding"), {l.In("segment_ids")}, 0));
  }
  if (l.Rank(sum) < 1) return;
  l.Result("output", LayerNormalized(l, sum, l.In("gamma"), l.In("beta"), l.Rank(sum) - 1, l.GetFloat("epsilon"), false).y);
  l.Result("embedding_sum", sum);
  if (!l.WantsResult("mask_index")) return;
  // How many words of each sentence are not masked.
  Var* mask = l.Has("mask") ? l.Cast(WithNumber(l, "equal", l.In("mask"), 1), DType::kI32) : Filled(l, ids, 0, DType::kI32);
  l.Result("mask_index", Reduced(l, "reduce_sum", mask, {1}, false));
}

// X, plus skip and bias of SkipGroupNorm, by groups of channels; then silu on request.
void LowerGroupNorm(Lowering& l) {
  Var* x = l.In("X");
  const bool last = l.GetInt("channels_last") != 0;
  if (l.Has("skip")) {
    Var* skip = l.In("skip");
    if (l.Rank(skip) == 2) skip = last ? l.Unsqueeze(skip, {1, 2}) : l.Unsqueeze(skip, {2, 3});
    x = l.Binary("elementwise_add", x, skip);
    if (l.Has("bias")) x = l.Binary("elementwise_add", x, last ? l.In("bias") : WithTrailingOnes(l, l.In("bias"), l.Rank(x) - 2));
    l.Result("S", x);
  }
  const auto f32 = [&](const char* formal) { return l.Cast(l.In(formal), DType::kF32); };
  Var* y = l.Op("group_norm", {{"X", last ? ChannelsFirst(l, x) : x}, {"Scale", f32("gamma")}, {"Bias", f32("beta")}},
                {{"epsilon", static_cast<float>(l.GetFloat("epsilon"))}, {"groups", l.GetInt("groups")}}, "Y");
  if (l.GetInt("activation") != 0) y = Map(l, "silu", y);
  l.Result("Y", last ? ChannelsLast(l, y) : y);
}

}  // namespace

void AddContribLayers(OnnxOps& ops) {
  for (const char* type : {"com.microsoft.Gelu", "com.microsoft.BiasGelu", "com.microsoft.FastGelu"})
    ops.Add(type).Like("gelu").Lower(&LowerBiasGelu);
  ops.Add("com.microsoft.QuickGelu").Like("swish").Lower(&LowerQuickGelu);
  ops.Add("com.microsoft.BiasSplitGelu").Like("gelu").Lower(&LowerBiasSplitGelu);
  ops.Add("com.microsoft.BiasAdd").Like("elementwise_add").Lower(&LowerBiasAdd);
  ops.Add("com.microsoft.BiasSoftmax").Like("softmax").Lower(&LowerBiasSoftmax);
  for (const char* type : {"com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization"}) {
    ops.Add(type).Like("layer_norm").Amp(AmpClass::kInfer, kSumReason).Fp32({"mean", "inv_std_var"}).Lower(&LowerSkipNormalization);
  }
  ops.Add("com.microsoft.EmbedLayerNormalization")
      .Like("layer_norm")
      .Amp(AmpClass::kInfer, kSumReason)
      .Lower(&LowerEmbedLayerNormalization);
  for (const char* type : {"com.microsoft.GroupNorm", "com.microsoft.SkipGroupNorm"}) {
    ops.Add(type).Like("group_norm").Amp(AmpClass::kInfer, kSumReason).Fp32({"gamma", "beta"}).Lower(&LowerGroupNorm);
  }
}

}  // namespace ampc::onnx
