// Attention of the standard (operator set 23), and what came with it for caches.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/attention_util.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// The positions that causality, windows and the lengths of a cache leave; null for all.
Var* LeftByPosition(Lowering& l, Var* scores, Var* q) {
  Var* left = nullptr;
  const auto both = [&](Var* more) { left = left == nullptr ? more : l.Binary("logical_and", left, more); };
  Var* position = Count(l, scores, 3, false);
  const bool causal = l.GetInt("is_causal") != 0;
  const bool windows = l.since() >= 25;
  const auto window = [&](const char* size) { return windows ? std::min<int64_t>(l.GetInt(size), kToTheEnd) : -1; };
  const int64_t before = window("left_window_size"), after = window("right_window_size");
  Var* lengths = l.Has("nonpad_kv_seqlen") ? l.Reshape(l.Cast(l.In("nonpad_kv_seqlen"), DType::kI64), {-1, 1, 1, 1}) : nullptr;
  if (causal || before >= 0 || after >= 0) {
    Var* query = Count(l, scores, 2, false);
    if (l.Has("past_key")) query = l.Binary("elementwise_add", query, DimOf(l, l.In("past_key"), 2, DType::kI64));
    if (lengths != nullptr) query = l.Binary("elementwise_sub", l.Binary("elementwise_add", query, lengths), DimOf(l, q, 2, DType::kI64));
    Var* distance = l.Binary("elementwise_sub", query, position);
    if (causal) both(WithNumber(l, "greater_equal", distance, 0));
    if (before >= 0) both(WithNumber(l, "less_equal", distance, static_cast<double>(before)));
    if (after >= 0) both(WithNumber(l, "greater_equal", distance, -static_cast<double>(after)));
  }
  if (lengths != nullptr) both(l.Binary("less_equal", position, lengths));
  return left;
}

// The operand attn_mask as numbers to add, as long as the scores.
Var* MaskBias(Lowering& l, Var* scores) {
  Var* mask = l.In("attn_mask");
  const auto least = [&](Var* x) { return WithNumber(l, "elementwise_max", x, kLeastScore); };
  Var* bias = TypeOf(l, mask) == DType::kBool ? BiasOf(l, mask, scores, kLeastScore) : least(l.Cast(mask, TypeOf(l, scores)));
  const int rank = l.Rank(mask);
  if (rank < 1) return bias;
  const int64_t have = DimOf(l, mask, rank - 1), need = DimOf(l, scores, 3);
  if (!l.ok() || have >= need || have == 1) return bias;
  std::vector<int64_t> paddings(2 * rank, 0);
  paddings.back() = need - have;
  return l.Op("pad", {{"X", bias}}, {{"paddings", WholeNumbers(paddings)}, {"pad_value", static_cast<float>(kLeastScore)}});
}

// The scores with -inf, as the standard gives them, where `bias` is the least number.
Var* WithInfinities(Lowering& l, Var* scores, Var* bias) {
  Var* hidden = l.Cast(WithNumber(l, "less_equal", bias, kLeastScore), TypeOf(l, scores));
  return l.Binary("elementwise_add", scores, WithNumber(l, "elementwise_mul", hidden, kLeastScore));
}

Var* ByHeads(Lowering& l, Var* x, const char* heads) {
  const int rank = l.Rank(x);
  if (rank != 3) return x;
  if (l.GetInt(heads) > 0) return SplitHeads(l, x, l.GetInt(heads));
  Wrong(l, "operands of three dims need q_num_heads and kv_num_heads");
  return x;
}

void LowerStandardAttention(Lowering& l) {
  Var *q = ByHeads(l, l.In("Q"), "q_num_heads"), *k = ByHeads(l, l.In("K"), "kv_num_heads"), *v = ByHeads(l, l.In("V"), "kv_num_heads");
  if (l.Has("past_key")) k = l.Op("concat", {{"X", {l.In("past_key"), k}}}, {{"axis", 2}});
  if (l.Has("past_value")) v = l.Op("concat", {{"X", {l.In("past_value"), v}}}, {{"axis", 2}});
  l.Result("present_key", k);
  l.Result("present_value", v);
  const double size = static_cast<double>(DimOf(l, q, 3));
  if (!l.ok()) return;
  const DType dtype = TypeOf(l, q);
  const int64_t mode = l.GetInt("qk_matmul_output_mode");
  const auto give = [&](int64_t which, Var* x) {
    if (mode == which && l.WantsResult("qk_matmul_output")) l.Result("qk_matmul_output", l.Cast(x, dtype));
  };
  Var* scores = Scores(l, q, k, l.HasAttr("scale") ? l.GetFloat("scale") : 1 / std::sqrt(size));
  give(0, scores);
  scores = Capped(l, scores, l.GetFloat("softcap"));
  give(1, scores);
  Var* left = LeftByPosition(l, scores, q);
  Var* bias =
      SumOf(l, l.Has("attn_mask") ? MaskBias(l, scores) : nullptr, left == nullptr ? nullptr : BiasOf(l, left, scores, kLeastScore));
  // Two masks at once are no less than one.
  if (bias != nullptr) bias = WithNumber(l, "elementwise_max", bias, kLeastScore);
  scores = SumOf(l, scores, bias);
  give(2, bias == nullptr ? scores : WithInfinities(l, scores, bias));
  Var* p = Probabilities(l, scores);
  if (bias != nullptr) {  // a query that may attend to nothing gets zeros
    Var* some = WithNumber(l, "greater_than", Reduced(l, "reduce_max", bias, {-1}, true), kLeastScore / 2);
    p = l.Binary("elementwise_mul", p, l.Cast(some, TypeOf(l, p)));
  }
  give(3, p);
  Var* y = Weighted(l, p, v);
  l.Result("Y", l.Rank(l.In("Q")) == 3 ? JoinHeads(l, y) : y);
}

// Writes `update` into the cache along an axis, from where each batch says.
void LowerTensorScatter(Lowering& l) {
  Var *past = l.In("past_cache"), *update = l.In("update");
  const int64_t axis = AxisOf(l, past, l.GetInt("axis"));
  if (!l.ok()) return;
  if (axis == 0) return Wrong(l, "axis is that of the batch");
  const int64_t room = DimOf(l, past, axis), length = DimOf(l, update, axis);
  if (!l.ok() || !l.CanHold(DType::kI64, {room})) return;
  if (room == 0) return l.Result("present_cache", past);
  std::vector<int> perm = {0, static_cast<int>(axis)}, back;
  for (int i = 1; i < l.Rank(past); ++i) {
    if (i != axis) perm.push_back(i);
  }
  for (int i = 0; i < l.Rank(past); ++i) back.push_back(i == 0 ? 0 : i == axis ? 1 : i < axis ? i + 1 : i);
  Var* joined = l.Transpose(l.Op("concat", {{"X", {past, update}}}, {{"axis", static_cast<int32_t>(axis)}}), perm);
  Var* steps = l.Const(AxisRange(0, room));
  Var* from = WithNumber(l, "elementwise_mul", l.Reshape(Count(l, past, 0, false), {-1, 1}), 0);
  if (l.Has("write_indices")) from = l.Reshape(l.In("write_indices"), {-1, 1});
  Var* at = l.Binary("elementwise_sub", steps, from);  // [batch, room]: position in the update
  if (l.GetString("mode") == "circular") at = WithNumber(l, "elementwise_mod", at, static_cast<double>(room));
  Var* inside = l.Binary("logical_and", WithNumber(l, "greater_equal", at, 0), WithNumber(l, "less_than", at, static_cast<double>(length)));
  Var* moved = WithNumber(l, "elementwise_add", l.Binary("elementwise_sub", at, steps), static_cast<double>(room));
  Var* index = l.Binary("elementwise_add", l.Binary("elementwise_mul", l.Cast(inside, DType::kI64), moved), steps);
  l.Result("present_cache", l.Transpose(TakeInBatch(l, joined, index), back));
}

// Running products; the others by turning the axis around, and by a one in front.
void LowerCumProd(Lowering& l) {
  Var* x = l.In("x");
  const std::optional<std::vector<int64_t>> given = l.NeedInts(l.In("axis"));
  if (!given.has_value()) return;
  const int32_t axis = static_cast<int32_t>(AxisOf(l, x, given->empty() ? 0 : (*given)[0]));
  const int64_t n = DimOf(l, x, axis);
  if (!l.ok()) return;
  const auto flip = [&](Var* v) { return l.GetInt("reverse") == 0 ? v : l.Op("flip", {{"X", v}}, {{"axis", Ints{axis}}}); };
  const auto part = [&](Var* v, int64_t begin, int64_t end) {
    return l.Op("slice", {{"Input", v}}, {{"axes", Ints{axis}}, {"starts", WholeNumbers({begin})}, {"ends", WholeNumbers({end})}});
  };
  Var* y = flip(x);
  if (l.GetInt("exclusive") != 0 && n > 0) {
    Var* one = Filled(l, part(y, 0, 1), 1, TypeOf(l, x));
    y = n == 1 ? one : l.Op("concat", {{"X", {one, part(y, 0, n - 1)}}}, {{"axis", axis}});
  }
  l.Result("y", flip(Map(l, "cumprod", y, {{"dim", axis}})));
}

void LowerSwiGlu(Lowering& l) {
  Var* x = l.In("A");
  Var* gate = Map(l, "swish", Widened(l, x), {{"beta", static_cast<float>(l.GetFloat("alpha"))}});
  l.Result("Y", l.Cast(l.Binary("elementwise_mul", gate, Widened(l, l.In("B"))), TypeOf(l, x)));
}

constexpr int64_t kMostSteps = 1 << 16;  // each is a dozen ops

// Sizes of the operands: every step has `heads` keys and values, each for `group` queries.
struct Heads {
  int64_t batch, steps, heads, group, key, value;
};

std::optional<Heads> ReadHeads(Lowering& l) {
  const std::optional<std::vector<int64_t>> q = l.Shape(l.In("query")), k = l.Shape(l.In("key")), v = l.Shape(l.In("value"));
  if (!q.has_value() || !k.has_value() || !v.has_value()) return std::nullopt;
  if (q->size() != 3 || k->size() != 3 || v->size() != 3) {
    Wrong(l, "query, key and value need rank 3");
    return std::nullopt;
  }
  const int64_t queries = l.GetInt("q_num_heads"), heads = l.GetInt("kv_num_heads");
  if (heads <= 0 || queries <= 0 || queries % heads != 0) {
    Wrong(l, absl::StrCat("q_num_heads is ", queries, ", needs to be a positive multiple of kv_num_heads, ", heads));
    return std::nullopt;
  }
  const Heads h{(*q)[0], (*q)[1], heads, queries / heads, (*q)[2] / queries, (*v)[2] / heads};
  const bool fit = (*q)[2] == h.key * queries && (*k)[2] == h.key * heads && (*v)[2] == h.value * heads && (*k)[0] == h.batch &&
                   (*v)[0] == h.batch && (*k)[1] == h.steps && (*v)[1] == h.steps && h.key > 0 && h.value > 0 && h.batch > 0;
  if (!fit) {
    Wrong(l, "query, key and value do not fit each other and the numbers of heads");
    return std::nullopt;
  }
  if (h.steps < 1 || h.steps > kMostSteps) {
    l.Unsupported(absl::StrCat("a sequence of ", h.steps, " steps; 1 to ", kMostSteps, " are supported"));
    return std::nullopt;
  }
  return h;
}

// The steps of an operand, each [batch, dims...].
std::vector<Var*> StepsOf(Lowering& l, const Heads& h, Var* x, std::vector<int64_t> dims) {
  dims.insert(dims.begin(), h.batch);
  std::vector<Var*> steps = l.OpList("split", {{"X", l.Transpose(Widened(l, x), {1, 0, 2})}},
                                     {{"num", static_cast<int32_t>(h.steps)}, {"axis", 0}}, "Out", static_cast<int>(h.steps));
  for (Var*& step : steps) step = l.Reshape(step, dims);
  return steps;
}

// The last dim of an operand [batch, steps, n], which has to be one of two; 0 and the error otherwise.
int64_t LastOf(Lowering& l, const Heads& h, absl::string_view formal, int64_t one, int64_t other) {
  const std::optional<std::vector<int64_t>> dims = l.Shape(l.In(formal));
  if (!dims.has_value()) return 0;
  const bool fits = dims->size() == 3 && (*dims)[0] == h.batch && (*dims)[1] == h.steps && ((*dims)[2] == one || (*dims)[2] == other);
  if (!fits) Wrong(l, absl::StrCat(formal, " does not fit query and the numbers of heads"));
  return fits ? (*dims)[2] : 0;
}

void LowerLinearAttention(Lowering& l) {
  const std::string rule = l.GetString("update_rule");
  const bool delta = rule == "delta" || rule == "gated_delta", gated = rule == "gated" || rule == "gated_delta";
  if (!delta && !gated && rule != "linear")
    return Wrong(l, absl::StrCat("update_rule is '", rule, "', needs linear, gated, delta or gated_delta"));
  if (l.Has("decay") != gated) return Wrong(l, absl::StrCat("update_rule ", rule, gated ? " needs decay" : " has no decay"));
  if (l.Has("beta") != delta) return Wrong(l, absl::StrCat("update_rule ", rule, delta ? " needs beta" : " has no beta"));
  const std::optional<Heads> found = ReadHeads(l);
  if (!found.has_value()) return;
  const Heads& h = *found;
  const int64_t decays = gated ? LastOf(l, h, "decay", h.heads, h.heads * h.key) : 0, betas = delta ? LastOf(l, h, "beta", h.heads, 1) : 0;
  if (!l.ok()) return;
  const std::vector<Var*> q = StepsOf(l, h, l.In("query"), {h.heads, h.group, h.key}), k = StepsOf(l, h, l.In("key"), {h.heads, h.key, 1});
  const std::vector<Var*> v = StepsOf(l, h, l.In("value"), {h.heads, 1, h.value});
  std::vector<Var*> decay, beta, outputs;
  if (gated) decay = StepsOf(l, h, Map(l, "exp", Widened(l, l.In("decay"))), {h.heads, decays / h.heads, 1});
  if (delta) beta = StepsOf(l, h, l.In("beta"), {betas, 1, 1});
  const double given = l.GetFloat("scale"), scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(h.key));
  const auto product = [&](Var* x, Var* y, bool trans_x) { return l.Op("matmul_v2", {{"X", x}, {"Y", y}}, {{"trans_x", trans_x}}); };
  Var* state = l.Has("past_state") ? Widened(l, l.In("past_state")) : nullptr;
  for (int64_t t = 0; t < h.steps && l.ok(); ++t) {
    Var* value = v[t];
    if (state != nullptr && gated) state = l.Binary("elementwise_mul", state, decay[t]);
    if (state != nullptr && delta) value = l.Binary("elementwise_sub", value, product(k[t], state, true));
    if (delta) value = l.Binary("elementwise_mul", value, beta[t]);
    Var* step = l.Binary("elementwise_mul", k[t], value);
    state = state == nullptr ? step : l.Binary("elementwise_add", state, step);
    outputs.push_back(WithNumber(l, "elementwise_mul", product(q[t], state, false), scale));
  }
  if (!l.ok()) return;
  Var* y = l.Reshape(l.Op("stack", {{"X", outputs}}, {{"axis", 1}}, "Y"), {h.batch, h.steps, h.heads * h.group * h.value});
  const DType dtype = TypeOf(l, l.In("query"));
  l.Result("output", l.Cast(y, dtype));
  l.Result("present_state", l.Cast(state, l.Has("past_state") ? TypeOf(l, l.In("past_state")) : dtype));
}

void LowerCausalConvWithState(Lowering& l) {
  const std::string activation = l.GetString("activation");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return Wrong(l, absl::StrCat("activation is '", activation, "', needs none, silu or swish"));
  }
  Var *x = l.In("input"), *weight = l.In("weight");
  if (l.Rank(x) >= 0 && l.Rank(x) != 3) return Wrong(l, absl::StrCat("input has rank ", l.Rank(x), ", needs 3"));
  if (l.Rank(weight) >= 0 && l.Rank(weight) != 3) return Wrong(l, absl::StrCat("weight has rank ", l.Rank(weight), ", needs 3"));
  const int64_t channels = DimOf(l, weight, 0), size = DimOf(l, weight, 2), length = DimOf(l, x, 2);
  if (!l.ok()) return;
  if (size < 1) return Wrong(l, "weight has no elements");
  if (l.Has("past_state")) {
    x = l.Op("concat", {{"X", {l.In("past_state"), x}}}, {{"axis", int32_t{2}}});
  } else {
    x = l.Op("pad", {{"X", x}}, {{"paddings", WholeNumbers({0, 0, 0, 0, size - 1, 0})}});
  }
  std::vector<Lowering::Operand> operands = {{"Input", l.Unsqueeze(x, {2})}, {"Filter", l.Unsqueeze(weight, {2})}};
  if (l.Has("bias")) operands.push_back({"Bias", l.In("bias")});
  Var* y = l.Squeeze(l.Op("conv2d", operands, {{"groups", WholeNumber(channels)}}, "Output"), {2});
  l.Result("output", activation == "none" ? y : Map(l, "silu", y));
  if (DimOf(l, x, 2) != SatAdd(length, size - 1)) return Wrong(l, absl::StrCat("past_state needs ", size - 1, " steps"));
  l.Result("present_state",
           l.Op("slice", {{"Input", x}}, {{"axes", Ints{2}}, {"starts", WholeNumbers({length})}, {"ends", Ints{kToTheEnd}}}));
}

}  // namespace

void AddStandardAttention(OnnxOps& ops) {
  ops.Add("Attention")
      .Amp(AmpClass::kAllow,
           "its two matrix products run at the rate of f16 with fp32 sums; scores are masked, and softmax is taken, in fp32 inside")
      .Lower(&LowerStandardAttention);
  ops.Add("LinearAttention")
      .Amp(AmpClass::kDeny, "every step adds to one state: in f16 a sum of ones stops at 2048")
      .Lower(&LowerLinearAttention);
  ops.Add("CausalConvWithState").Like("conv2d").Lower(&LowerCausalConvWithState);
  ops.Add("TensorScatter").Amp(AmpClass::kClear, "moves values without arithmetic").Lower(&LowerTensorScatter);
  ops.Add("CumProd").Like("cumprod").Lower(&LowerCumProd).Infer(&InferSameType);
  ops.Add("SwiGLU").Like("swish").Lower(&LowerSwiGlu);
}

}  // namespace ampc::onnx
