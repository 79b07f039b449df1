// Attention of ONNX Runtime: Attention, MultiHeadAttention and QAttention; and the rotary embeddings of both domains.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/attention_util.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/quantize_util.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

constexpr const char* kAttentionReason =
    "its two matrix products run at the rate of f16 with fp32 sums; scores are masked, and softmax is taken, in fp32 inside";

double ScaleOf(Lowering& l, Var* q) {
  if (l.GetFloat("scale") != 0) return l.GetFloat("scale");
  return 1 / std::sqrt(static_cast<double>(DimOf(l, q, 3)));
}

// [batch] or more of `v`, from `begin` on, against scores.
Var* PerBatch(Lowering& l, Var* v, int64_t begin, int64_t batch) {
  Var* part =
      l.Op("slice", {{"Input", v}}, {{"axes", Ints{0}}, {"starts", WholeNumbers({begin})}, {"ends", WholeNumbers({begin + batch})}});
  return l.Cast(l.Reshape(part, {-1, 1, 1, 1}), DType::kI64);
}

// Which positions `mask` leaves: a mask of each position (0: none), or lengths: one for each batch, or ends and then beginnings.
Var* Left(Lowering& l, Var* mask, Var* scores) {
  const int rank = l.Rank(mask);
  if (rank > 1) {
    Var* left = WithNumber(l, "greater_than", mask, 0);
    return rank == 2 ? l.Unsqueeze(left, {1, 2}) : rank == 3 ? l.Unsqueeze(left, {1}) : left;
  }
  const int64_t batch = DimOf(l, scores, 0), n = DimOf(l, mask, 0);
  if (!l.ok()) return mask;
  Var* position = Count(l, scores, 3, false);
  Var* left = l.Binary("less_equal", position, PerBatch(l, mask, 0, batch));
  if (n != 2 * batch) return left;
  return l.Binary("logical_and", left, l.Binary("greater_than", position, PerBatch(l, mask, batch, batch)));
}

// The masks of the op as what is added to the scores; null for none.
Var* Masks(Lowering& l, const char* formal, Var* scores) {
  const double least = l.HasAttr("mask_filter_value") ? l.GetFloat("mask_filter_value") : -10000.0;
  Var* bias = nullptr;
  if (l.Has(formal)) {
    if (l.Rank(l.In(formal)) == 4) {
      l.Unsupported("a mask of four dims is not supported");
      return nullptr;
    }
    bias = BiasOf(l, Left(l, l.In(formal), scores), scores, least);
  }
  if (l.GetInt("unidirectional") == 0) return bias;
  Var* causal = BiasOf(l, WithNumber(l, "greater_equal", DistanceBack(l, scores), 0), scores, kLeastScore);
  return bias == nullptr ? causal : l.Binary("elementwise_max", SumOf(l, bias, causal), l.ConstScalar(kLeastScore, TypeOf(l, scores)));
}

struct Projected {
  Var *q, *k, *v;  // by heads
};

// Attention by the op's masks and attributes. `mask` names its operand.
void Attend(Lowering& l, const Projected& p, const char* mask) {
  Var* scores = Scores(l, p.q, p.k, ScaleOf(l, p.q));
  Var* bias = Masks(l, mask, scores);
  if (l.Has("attention_bias")) bias = SumOf(l, bias, l.Cast(l.In("attention_bias"), TypeOf(l, scores)));
  scores = SumOf(l, scores, bias);
  if (l.WantsResult("qk")) l.Result("qk", l.Cast(scores, p.q->type.dtype));
  l.Result("output", JoinHeads(l, Weighted(l, Probabilities(l, scores), p.v)));
}

Var* After(Lowering& l, Var* past, Var* now) { return l.Op("concat", {{"X", {past, now}}}, {{"axis", 2}}); }

// The pair of keys and values that `past` [2, batch, heads, positions, size] has, in front of p's; both together are the result `present`.
void WithPast(Lowering& l, Projected* p) {
  if (l.Has("past")) {
    const std::vector<Var*> past = l.OpList("split", {{"X", l.In("past")}}, {{"num", 2}, {"axis", 0}}, "Out", 2);
    p->k = After(l, l.Squeeze(past[0], {0}), p->k);
    p->v = After(l, l.Squeeze(past[1], {0}), p->v);
  }
  if (l.WantsResult("present")) l.Result("present", l.Op("stack", {{"X", {p->k, p->v}}}, {{"axis", 0}}, "Y"));
}

// Parts of the last dim of `all` [batch, length, ...], by heads.
Projected SplitProjection(Lowering& l, Var* all, const std::vector<int64_t>& sizes) {
  Lowering::Attrs attrs = {{"axis", 2}};
  sizes.empty() ? attrs.push_back({"num", 3}) : attrs.push_back({"sections", WholeNumbers(sizes)});
  const std::vector<Var*> parts = l.OpList("split", {{"X", all}}, std::move(attrs), "Out", 3);
  const int64_t heads = l.GetInt("num_heads");
  return {SplitHeads(l, parts[0], heads), SplitHeads(l, parts[1], heads), SplitHeads(l, parts[2], heads)};
}

bool CheckAttention(Lowering& l) {
  if (l.GetInt("num_heads") <= 0) {
    Wrong(l, "num_heads needs to be positive");
  } else if (l.GetInt("do_rotary") != 0 && l.op().def().FindAttr("rotary_interleaved") == nullptr) {
    l.Unsupported("do_rotary is not 0; its angles are no operands");
  } else if (l.GetInt("past_present_share_buffer") != 0 || l.Has("past_sequence_length")) {
    l.Unsupported("a past that shares its buffer with the present is not supported");
  }
  return l.ok();
}

void LowerAttention(Lowering& l) {
  if (!CheckAttention(l)) return;
  Var* all = l.Binary("matmul_v2", l.In("input"), l.In("weights"));
  if (l.Has("bias")) all = l.Binary("elementwise_add", all, l.In("bias"));
  Projected p = SplitProjection(l, all, l.GetInts("qkv_hidden_sizes"));
  WithPast(l, &p);
  Attend(l, p, "mask_index");
}

void LowerQAttention(Lowering& l) {
  if (!CheckAttention(l)) return;
  Var* all = DequantizedProduct(l, QuantizedOperand(l, "input", "input_scale", "input_zero_point"),
                                QuantizedOperand(l, "weight", "weight_scale", "weight_zero_point"));
  all = l.Cast(l.Binary("elementwise_add", all, l.Cast(l.In("bias"), DType::kF32)), TypeOf(l, l.In("bias")));
  Projected p = SplitProjection(l, all, {});
  WithPast(l, &p);
  Attend(l, p, "mask_index");
}

// Part `i` of n along `axis`, without it.
Var* PartOf(Lowering& l, Var* x, int n, int axis, int i) {
  return l.Squeeze(l.OpList("split", {{"X", x}}, {{"num", n}, {"axis", axis}}, "Out", n)[i], {axis});
}

// Query, key and value by heads, from their packed forms too, with the bias.
Projected ReadMultiHead(Lowering& l) {
  const int64_t heads = l.GetInt("num_heads");
  Var* query = l.In("query");
  const bool packed = l.Rank(query) == 5;
  const bool packed_kv = !packed && l.Has("key") && !l.Has("value");
  const bool cached = l.Has("key") && l.Has("value") && l.Rank(l.In("key")) == 4;
  if (!l.ok()) return {query, query, query};
  if (!packed && !l.Has("key")) {
    Wrong(l, "a query of three dims needs a key");
    return {query, query, query};
  }
  // [batch, length, heads, size] each.
  const auto by_head = [&](Var* x) { return l.Reshape(x, {0, 0, heads, -1}); };
  Var* q = packed ? PartOf(l, query, 3, 3, 0) : by_head(query);
  Var* k = packed ? PartOf(l, query, 3, 3, 1) : packed_kv ? PartOf(l, l.In("key"), 2, 3, 0) : cached ? l.In("key") : by_head(l.In("key"));
  Var* v = packed      ? PartOf(l, query, 3, 3, 2)
           : packed_kv ? PartOf(l, l.In("key"), 2, 3, 1)
           : cached    ? l.In("value")
                       : by_head(l.In("value"));
  if (l.Has("bias")) {
    const int64_t hidden = heads * DimOf(l, q, 3), all = DimOf(l, l.In("bias"), 0);
    if (!l.ok()) return {q, k, v};
    const std::vector<Var*> bias =
        l.OpList("split", {{"X", l.In("bias")}}, {{"sections", WholeNumbers({hidden, hidden, all - 2 * hidden})}, {"axis", 0}}, "Out", 3);
    const auto plus = [&](Var* x, Var* b) { return l.Binary("elementwise_add", x, l.Reshape(b, {heads, -1})); };
    q = plus(q, bias[0]);
    if (!cached) {
      k = plus(k, bias[1]);
      v = plus(v, bias[2]);
    }
  }
  const auto front = [&](Var* x) { return l.Transpose(x, {0, 2, 1, 3}); };
  return {front(q), cached ? k : front(k), cached ? v : front(v)};
}

void LowerMultiHeadAttention(Lowering& l) {
  if (!CheckAttention(l)) return;
  if (l.Has("cache_indirection")) return l.Unsupported("a cache by beams is not supported");
  Projected p = ReadMultiHead(l);
  if (l.Has("past_key")) p.k = After(l, l.In("past_key"), p.k);
  if (l.Has("past_value")) p.v = After(l, l.In("past_value"), p.v);
  l.Result("present_key", p.k);
  l.Result("present_value", p.v);
  Attend(l, p, "key_padding_mask");
}

// The rows of a cache of angles that the positions name: [batch or 1, length, n]. One position is that of the first of `x`, whose dim 2 is
// the length.
Var* AnglesAt(Lowering& l, Var* cache, Var* positions, Var* x) {
  if (l.Rank(positions) == 1) {
    Var* steps = WithNumber(l, "elementwise_sub", l.Reshape(Count(l, x, 2, false), {1, -1}), 1);
    positions = l.Binary("elementwise_add", steps, l.Cast(positions, DType::kI64));
  }
  return Take(l, cache, {positions}, 0);
}

void LowerRotaryEmbedding(Lowering& l) {
  const bool own = DomainOf(TypeName(l.op().def())).empty();  // the standard's
  Var *x = l.In(own ? "X" : "input"), *cos = l.In("cos_cache"), *sin = l.In("sin_cache");
  const int rank = l.Rank(x);
  if (rank < 0) return;
  if (rank != 3 && rank != 4) return Wrong(l, absl::StrCat("the operand has rank ", rank, ", needs 3 or 4"));
  if (!own && l.GetInt("is_packed_batching") != 0) return l.Unsupported("is_packed_batching is not 0");
  int64_t heads = l.GetInt("num_heads");
  if (rank == 3 && heads == 0 && !own) heads = DimOf(l, x, 2) / std::max<int64_t>(1, 2 * DimOf(l, cos, 1));
  if (rank == 3 && heads <= 0 && l.ok()) return Wrong(l, "an operand of three dims needs num_heads");
  if (!l.ok()) return;
  Var* by_head = rank == 3 ? SplitHeads(l, x, heads) : x;
  if (l.Has("position_ids")) {
    cos = AnglesAt(l, cos, l.In("position_ids"), by_head);
    sin = AnglesAt(l, sin, l.In("position_ids"), by_head);
  }
  const DType dtype = TypeOf(l, x);
  Var* y = l.Cast(Rotated(l, Widened(l, by_head), Widened(l, cos), Widened(l, sin), l.GetInt("interleaved") != 0), dtype);
  l.Result(own ? "Y" : "output", rank == 3 ? JoinHeads(l, y) : y);
}

}  // namespace

void AddAttention(OnnxOps& ops) {
  ops.Add("com.microsoft.Attention").Amp(AmpClass::kAllow, kAttentionReason).Lower(&LowerAttention);
  ops.Add("com.microsoft.MultiHeadAttention").Amp(AmpClass::kAllow, kAttentionReason).Lower(&LowerMultiHeadAttention);
  ops.Add("com.microsoft.QAttention").Amp(AmpClass::kNever, "quantised: its scales stay as they are").Lower(&LowerQAttention);
  for (const char* type : {"RotaryEmbedding", "com.microsoft.RotaryEmbedding"}) {
    ops.Add(type)
        .Amp(AmpClass::kInfer, "turned by cosines and sines of at most 1, and rounded once; the positions are integers")
        .Lower(&LowerRotaryEmbedding);
  }
}

}  // namespace ampc::onnx
