#include "graph/ops/onnx/attention_util.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/softmax.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {

Var* SplitHeads(Lowering& l, Var* x, int64_t heads) { return l.Transpose(l.Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3}); }

Var* JoinHeads(Lowering& l, Var* x) { return l.Reshape(l.Transpose(x, {0, 2, 1, 3}), {0, 0, -1}); }

Var* Count(Lowering& l, Var* x, int axis, bool from_end) {
  const int rank = l.Rank(x);
  if (rank < 0) return x;
  if (axis >= rank) {
    Wrong(l, absl::StrCat("'", x->name(), "' has rank ", rank, ", needs at least ", axis + 1));
    return x;
  }
  if (const int64_t n = x->type.dims[axis]; IsKnown(n)) {
    if (!l.CanHold(DType::kI64, {n})) return x;
    std::vector<int64_t> dims(rank, 1), numbers = AxisRange(1, n + 1);
    dims[axis] = n;
    if (from_end) std::reverse(numbers.begin(), numbers.end());
    return l.Const(HostTensor::FromValues<int64_t>(dims, numbers));
  }
  Ints axes, starts, ends;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) {
      axes.push_back(i);
      starts.push_back(0);
      ends.push_back(1);
    }
  }
  Var* line = l.Op("slice", {{"Input", x}}, {{"axes", axes}, {"starts", starts}, {"ends", ends}});
  return Map(l, "cumsum", Filled(l, line, 1, DType::kI64), {{"axis", int32_t{axis}}, {"reverse", from_end}});
}

Var* DistanceBack(Lowering& l, Var* scores) { return l.Binary("elementwise_sub", Count(l, scores, 3, true), Count(l, scores, 2, true)); }

Var* BiasOf(Lowering& l, Var* mask, Var* scores, double least) {
  Var* hidden = l.Cast(l.Op("logical_not", {{"X", mask}}), TypeOf(l, scores));
  return WithNumber(l, "elementwise_mul", hidden, least);
}

namespace {

// The rows of heads that share one of `heads` joined: [batch, heads, queries of all of them, ...].
Var* Grouped(Lowering& l, Var* x, int64_t heads) { return DimOf(l, x, 1) == heads ? x : l.Reshape(x, {0, heads, -1, 0}); }

// x * y for each head of `y`.
Var* ByHead(Lowering& l, Var* x, Var* y, bool trans_y) {
  const int64_t heads = DimOf(l, x, 1), shared = DimOf(l, y, 1);
  if (!l.ok()) return x;
  if (shared <= 0 || heads % shared != 0) {
    Wrong(l, "the heads of the query are no multiple of those of key and value");
    return x;
  }
  Var* out = l.Op("matmul_v2", {{"X", Grouped(l, x, shared)}, {"Y", y}}, {{"trans_y", trans_y}});
  return heads == shared ? out : l.Reshape(out, {0, heads, -1, 0});
}

}  // namespace

Var* Scores(Lowering& l, Var* q, Var* k, double scale) {
  // Before the product, which is larger.
  return Widened(l, ByHead(l, Map(l, "scale", q, {{"scale", static_cast<float>(scale)}}), k, true));
}

Var* Capped(Lowering& l, Var* scores, double softcap) {
  if (softcap == 0) return scores;
  return WithNumber(l, "elementwise_mul", Map(l, "tanh", WithNumber(l, "elementwise_div", scores, softcap)), softcap);
}

Var* Probabilities(Lowering& l, Var* scores) { return SoftmaxAlong(l, scores, 3); }

Var* Weighted(Lowering& l, Var* p, Var* v) { return ByHead(l, l.Cast(p, TypeOf(l, v)), v, false); }

Var* TakeInBatch(Lowering& l, Var* x, Var* index) {
  Var* batch = WithNumber(l, "elementwise_sub", Count(l, index, 0, false), 1);
  batch = l.Binary("elementwise_add", batch, WithNumber(l, "elementwise_mul", index, 0));
  return l.Op("gather_nd", {{"X", x}, {"Index", l.Op("stack", {{"X", {batch, index}}}, {{"axis", 2}}, "Y")}});
}

Var* SumOf(Lowering& l, Var* x, Var* y) { return x == nullptr ? y : y == nullptr ? x : l.Binary("elementwise_add", x, y); }

namespace {

// The numbers at even and at odd places of the last dim, or its halves.
std::vector<Var*> Pairs(Lowering& l, Var* x, bool interleaved) {
  if (!interleaved) return l.OpList("split", {{"X", x}}, {{"num", 2}, {"axis", 3}}, "Out", 2);
  std::vector<Var*> parts = l.OpList("split", {{"X", l.Reshape(x, {0, 0, 0, -1, 2})}}, {{"num", 2}, {"axis", 4}}, "Out", 2);
  for (Var*& part : parts) part = l.Squeeze(part, {4});
  return parts;
}

}  // namespace

Var* Rotated(Lowering& l, Var* x, Var* cos, Var* sin, bool interleaved) {
  const int64_t turned = 2 * DimOf(l, cos, l.Rank(cos) - 1), size = DimOf(l, x, 3);
  if (!l.ok()) return x;
  if (turned > size) {
    Wrong(l, "the angles are more than half the size of a head");
    return x;
  }
  const auto part = [&](int64_t begin, int64_t end) {
    return l.Op("slice", {{"Input", x}}, {{"axes", Ints{3}}, {"starts", WholeNumbers({begin})}, {"ends", WholeNumbers({end})}});
  };
  cos = l.Unsqueeze(cos, {1});
  sin = l.Unsqueeze(sin, {1});
  const std::vector<Var*> pair = Pairs(l, turned == size ? x : part(0, turned), interleaved);
  const auto times = [&](Var* a, Var* b) { return l.Binary("elementwise_mul", a, b); };
  Var* real = l.Binary("elementwise_sub", times(pair[0], cos), times(pair[1], sin));
  Var* imaginary = l.Binary("elementwise_add", times(pair[0], sin), times(pair[1], cos));
  Var* y = interleaved ? l.Reshape(l.Op("stack", {{"X", {real, imaginary}}}, {{"axis", 4}}, "Y"), {0, 0, 0, -1})
                       : l.Op("concat", {{"X", {real, imaginary}}}, {{"axis", 3}});
  return turned == size ? y : l.Op("concat", {{"X", {y, part(turned, size)}}}, {{"axis", 3}});
}

}  // namespace ampc::onnx
