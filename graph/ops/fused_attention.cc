#include <utility>
#include <vector>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

Dims Leading(const TensorType& t) { return Dims(t.dims.begin(), t.dims.end() - 2); }

absl::StatusOr<Dims> Broadcast(InferContext& ctx, const Dims& x, const char* slot, const Dims& y, int c) {
  absl::StatusOr<Dims> both = BroadcastDims(ctx, x, y, -1, c);
  if (both.ok()) return both;
  return Fail(ctx, c, slot, " is ", ToString(ctx.In(slot)), ", which does not broadcast with ", ToString(TensorType(ctx.In("Q").dtype, x)));
}

absl::Status InferFusedAttention(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Q", "K", 1));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Q", "V", 1));
  const TensorType &q = ctx.In("Q"), &k = ctx.In("K"), &v = ctx.In("V");
  const TensorType mask = ctx.Count("Mask") > 0 ? ctx.In("Mask") : TensorType(q.dtype, {});
  for (const char* slot : {"Q", "K", "V"}) AMPC_RETURN_IF_ERROR(NeedRank(ctx, slot, 2, 8, 2));
  ctx.Out("Out", TensorType::Unranked(q.dtype));
  if (!q.has_rank || !k.has_rank || !v.has_rank || !mask.has_rank) return absl::OkStatus();
  const bool trans_k = ctx.op().GetBool("trans_k");
  const int64_t k_rows = k.dims[k.dims.size() - (trans_k ? 1 : 2)], positions = k.dims[k.dims.size() - (trans_k ? 2 : 1)];
  if (Differ(q.dims.back(), k_rows)) return Fail(ctx, 3, "a key has ", k_rows, " elements, needs ", q.dims.back(), ", those of a query");
  AMPC_ASSIGN_OR_RETURN(Dims scores, Broadcast(ctx, Leading(q), "K", Leading(k), 4));
  scores.push_back(q.dims[q.dims.size() - 2]);
  scores.push_back(positions);
  AMPC_ASSIGN_OR_RETURN(scores, Broadcast(ctx, scores, "Mask", mask.dims, 5));
  if (Differ(scores.back(), v.dims[v.dims.size() - 2])) {
    return Fail(ctx, 6, "V has ", v.dims[v.dims.size() - 2], " rows, needs ", scores.back(), ", one per key");
  }
  AMPC_ASSIGN_OR_RETURN(Dims out, Broadcast(ctx, Dims(scores.begin(), scores.end() - 2), "V", Leading(v), 7));
  out.push_back(scores[scores.size() - 2]);
  out.push_back(v.dims.back());
  ctx.Out("Out", TensorType(q.dtype, std::move(out)));
  return absl::OkStatus();
}

// Two products over all positions.
Cost AttentionCost(const Op& op) {
  const TensorType &q = op.input("Q")->type, &v = op.input("V")->type;
  if (!q.has_rank || !v.has_rank || q.rank() < 2 || v.rank() < 2 || !IsKnown(v.dims[v.rank() - 2])) return PerOperand<4>(op);
  const double width = IsKnown(q.dims.back()) && IsKnown(v.dims.back()) && v.dims.back() > 0
                           ? 1 + static_cast<double>(q.dims.back()) / static_cast<double>(v.dims.back())
                           : 2;
  return {2 * ResultElements(op) * static_cast<double>(v.dims[v.rank() - 2]) * width, TotalBytes(op)};
}

}  // namespace

OpDef FusedAttentionDef() {
  return OpDef("fused_attention")
      .Doc(
          "softmax(scale * Q times K + Mask) times V, where K is transposed on request; the scores are computed some rows at a time and "
          "kept in float32. Leading dimensions broadcast. On request a row of weights that are NaN, of which no position is left, counts "
          "as "
          "zeros.")
      .In("Q", kAsIs)
      .In("K", kAsIs)
      .In("V", kAsIs)
      .OptIn("Mask", kAsIs)
      .Out("Out", kAsIs)
      .A("scale", 1.0f)
      .A("trans_k", false)
      .A("nan_to_zero", false)
      .Infer(InferFusedAttention)
      .CostIs(AttentionCost)
      .Amp(kNever, "made after every type is decided; what it takes in were ops of their own then")
      .Gradient("none: made for execution, when gradients are ops already");
}

}  // namespace ampc::ops
