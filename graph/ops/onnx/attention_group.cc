// GroupQueryAttention of ONNX Runtime, whose keys and values are kept in buffers that each sequence fills to its own length.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "graph/ops/onnx/attention_util.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/norm_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

struct GroupQuery {
  Var *q, *k, *v;  // by heads
  Var* total;      // i64 [1]: positions of the longest sequence
  Var* before;     // i64 [batch, 1]: positions of each sequence before these
};

// i64 `x`, of rank 0 or 1, of one number.
Var* OneNumber(Lowering& l, Var* x) { return l.Reshape(l.Cast(x, DType::kI64), {1}); }

bool CheckGroupQuery(Lowering& l) {
  constexpr int64_t kMostHeads = 1 << 24;
  const auto positive = [&](const char* attr) { return l.GetInt(attr) > 0 && l.GetInt(attr) <= kMostHeads; };
  if (!positive("num_heads") || !positive("kv_num_heads")) {
    Wrong(l, "num_heads and kv_num_heads need to be from 1 to 2^24");
  } else if (l.GetString("k_quant_type") != "NONE" || l.GetString("v_quant_type") != "NONE") {
    l.Unsupported("a quantised cache is not supported");
  } else if (l.GetInt("sliding_window_cache") != 0 || l.Has("query_seqlens")) {
    l.Unsupported("a cache that slides, or chunks with padding, are not supported");
  } else if (l.WantsResult("output_qk") || l.GetInt("qk_output") != 0) {
    l.Unsupported("output_qk is not supported");
  } else if (l.Has("key") != l.Has("value")) {
    Wrong(l, "key and value are given together, or not at all");
  } else if (l.Has("past_key") != l.Has("past_value")) {
    Wrong(l, "past_key and past_value are given together, or not at all");
  } else if (l.Has("q_norm_weight") != l.Has("k_norm_weight")) {
    Wrong(l, "q_norm_weight and k_norm_weight are given together, or not at all");
  } else if (l.GetInt("do_rotary") != 0 && (!l.Has("cos_cache") || !l.Has("sin_cache"))) {
    Wrong(l, "do_rotary needs cos_cache and sin_cache");
  }
  return l.ok();
}

GroupQuery ReadGroupQuery(Lowering& l) {
  GroupQuery g;
  const int64_t heads = l.GetInt("num_heads"), shared = l.GetInt("kv_num_heads");
  if (l.Has("key")) {
    g.q = SplitHeads(l, l.In("query"), heads);
    g.k = SplitHeads(l, l.In("key"), shared);
    g.v = SplitHeads(l, l.In("value"), shared);
  } else {
    Var* all = SplitHeads(l, l.In("query"), heads + 2 * shared);
    const std::vector<Var*> parts =
        l.OpList("split", {{"X", all}}, {{"sections", WholeNumbers({heads, shared, shared})}, {"axis", 1}}, "Out", 3);
    g.q = parts[0];
    g.k = parts[1];
    g.v = parts[2];
  }
  g.total = OneNumber(l, l.In("total_sequence_length"));
  // A first prompt, which is as long as the longest sequence, has nothing before it.
  Var* length = OneNumber(l, DimOf(l, g.q, 2, DType::kI64));
  Var* later = l.Cast(l.Op("not_equal", {{"X", g.total}, {"Y", length}}), DType::kI64);
  Var* own = l.Reshape(WithNumber(l, "elementwise_add", l.Cast(l.In("seqlens_k"), DType::kI64), 1), {-1, 1});
  g.before = l.Binary("elementwise_mul", l.Binary("elementwise_sub", own, length), later);
  return g;
}

void Turn(Lowering& l, GroupQuery* g) {
  if (l.Has("q_norm_weight")) {
    const auto epsilon = [&](const char* attr) { return l.HasAttr(attr) ? l.GetFloat(attr) : l.GetFloat("qk_norm_epsilon"); };
    g->q = RmsNormalized(l, g->q, l.In("q_norm_weight"), 3, epsilon("q_norm_epsilon")).y;
    g->k = RmsNormalized(l, g->k, l.In("k_norm_weight"), 3, epsilon("k_norm_epsilon")).y;
  }
  if (l.GetInt("do_rotary") == 0) return;
  Var* steps = WithNumber(l, "elementwise_sub", l.Reshape(Count(l, g->q, 2, false), {1, -1}), 1);
  Var* positions = l.Has("position_ids") ? l.In("position_ids") : l.Binary("elementwise_add", g->before, steps);
  Var* cos = Widened(l, Take(l, l.In("cos_cache"), {positions}, 0));
  Var* sin = Widened(l, Take(l, l.In("sin_cache"), {positions}, 0));
  const bool interleaved = l.GetInt("rotary_interleaved") != 0;
  for (Var** x : {&g->q, &g->k}) *x = l.Cast(Rotated(l, Widened(l, *x), cos, sin, interleaved), TypeOf(l, *x));
}

// The buffer `past` with `now` behind what each sequence has in it, as long as the longest sequence where the buffer is shorter; zeros
// behind.
Var* Present(Lowering& l, const GroupQuery& g, const char* formal, Var* now) {
  const int64_t room = l.Has(formal) ? DimOf(l, l.In(formal), 2) : 0, length = DimOf(l, now, 2), batch = DimOf(l, now, 0);
  const std::optional<std::vector<int64_t>> total = l.Ints(g.total);
  if (!l.ok() || (room == 0 && (!total.has_value() || (*total)[0] == length))) return now;
  Var* joined = room == 0 ? now : l.Op("concat", {{"X", {l.In(formal), now}}}, {{"axis", 2}});
  if (batch == 1 && total.has_value() && (*total)[0] == room + length) return joined;
  // Position t is that of the buffer, or one of `now`, which lies behind the buffer.
  Var* count = WithNumber(l, "elementwise_max", g.total, static_cast<double>(room));
  Var* t = l.Op("range", {{"Start", l.Const({0})}, {"End", count}, {"Step", l.Const({1})}});
  t = l.Binary("elementwise_add", WithNumber(l, "elementwise_mul", g.before, 0), l.Unsqueeze(t, {0}));
  Var* behind = l.Binary("elementwise_sub", t, g.before);  // position in `now`
  Var* is_new = l.Cast(WithNumber(l, "greater_equal", behind, 0), DType::kI64);
  Var* moved = WithNumber(l, "elementwise_sub", g.before, static_cast<double>(room));
  Var* index = l.Binary("elementwise_sub", t, l.Binary("elementwise_mul", is_new, moved));
  index = WithNumber(l, "elementwise_min", index, static_cast<double>(room + length - 1));
  Var* taken = l.Transpose(TakeInBatch(l, l.Transpose(joined, {0, 2, 1, 3}), index), {0, 2, 1, 3});
  Var* used = l.Cast(WithNumber(l, "less_than", behind, static_cast<double>(length)), TypeOf(l, now));
  return l.Binary("elementwise_mul", taken, l.Unsqueeze(used, {1, 3}));
}

// The mask of the scores if the op is causal, and for its local window.
Var* GroupBias(Lowering& l, const GroupQuery& g, Var* scores) {
  if (l.GetInt("causal") == 0) return nullptr;
  Var* query = l.Binary("elementwise_add", Count(l, scores, 2, false), l.Reshape(g.before, {-1, 1, 1, 1}));
  Var* distance = l.Binary("elementwise_sub", query, Count(l, scores, 3, false));
  Var* left = WithNumber(l, "greater_equal", distance, 0);
  if (const int64_t window = l.GetInt("local_window_size"); window > 0) {
    left = l.Binary("logical_and", left, WithNumber(l, "less_than", distance, static_cast<double>(std::min<int64_t>(window, kToTheEnd))));
  }
  return BiasOf(l, left, scores, kLeastScore);
}

// The softmax with one more term in the sum: 1, or exp of what each head has.
Var* SinkProbabilities(Lowering& l, Var* scores) {
  Var* column = l.Op("slice", {{"Input", scores}}, {{"axes", Ints{3}}, {"starts", Ints{0}}, {"ends", Ints{1}}});
  column = WithNumber(l, "elementwise_mul", column, 0);
  if (l.Has("head_sink")) column = l.Binary("elementwise_add", column, l.Reshape(l.Cast(l.In("head_sink"), TypeOf(l, scores)), {-1, 1, 1}));
  Var* p = Probabilities(l, l.Op("concat", {{"X", {column, scores}}}, {{"axis", 3}}));
  return l.Op("slice", {{"Input", p}}, {{"axes", Ints{3}}, {"starts", Ints{1}}, {"ends", Ints{kToTheEnd}}});
}

void LowerGroupQueryAttention(Lowering& l) {
  if (!CheckGroupQuery(l)) return;
  GroupQuery g = ReadGroupQuery(l);
  Turn(l, &g);
  Var *k = Present(l, g, "past_key", g.k), *v = Present(l, g, "past_value", g.v);
  l.Result("present_key", k);
  l.Result("present_value", v);
  const double size = static_cast<double>(DimOf(l, g.q, 3));
  if (!l.ok()) return;
  Var* scores = Capped(l, Scores(l, g.q, k, l.GetFloat("scale") != 0 ? l.GetFloat("scale") : 1 / std::sqrt(size)), l.GetFloat("softcap"));
  if (l.Has("attention_bias")) scores = SumOf(l, scores, l.Cast(l.In("attention_bias"), TypeOf(l, scores)));
  scores = SumOf(l, scores, GroupBias(l, g, scores));
  const bool sink = l.GetInt("smooth_softmax") > 0 || l.Has("head_sink");
  l.Result("output", JoinHeads(l, Weighted(l, sink ? SinkProbabilities(l, scores) : Probabilities(l, scores), v)));
}

}  // namespace

void AddGroupQueryAttention(OnnxOps& ops) {
  ops.Add("com.microsoft.GroupQueryAttention")
      .Amp(AmpClass::kAllow,
           "its two matrix products run at the rate of f16 with fp32 sums; scores are masked, and softmax is taken, in fp32 inside")
      .Lower(&LowerGroupQueryAttention);
}

}  // namespace ampc::onnx
