#include "graph/ops/cost_util.h"
#include "graph/ops/fused_steps.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// The shape that all operands broadcast to.
absl::StatusOr<TensorType> WholeShape(InferContext& ctx, absl::Span<const int64_t> axes) {
  int first = 0;
  for (int i = 0; i < ctx.Count("X"); ++i) {
    if (!ctx.In("X", i).has_rank) return TensorType::Unranked(DType::kInvalid);
    if (ctx.In("X", i).rank() > ctx.In("X", first).rank()) first = i;
  }
  TensorType out = ctx.In("X", first);
  for (int i = 0; i < ctx.Count("X"); ++i) {
    if (i == first) continue;
    const Dims& x = ctx.In("X", i).dims;
    AMPC_ASSIGN_OR_RETURN(out.dims, BroadcastDims(ctx, out.dims, x, x.size() == out.dims.size() ? 0 : axes[i], 3));
  }
  return out;
}

absl::Status InferFusedElementwise(InferContext& ctx) {
  const std::vector<int64_t> axes = ctx.op().GetInts("axes"), results = ctx.op().GetInts("results");
  const AttrValue* attr = ctx.op().attr("types");
  const Strings types = attr != nullptr && std::holds_alternative<Strings>(*attr) ? std::get<Strings>(*attr) : Strings();
  const size_t n = static_cast<size_t>(ctx.Count("X")), outs = static_cast<size_t>(ctx.NumOut("Out"));
  if (axes.size() != n) return Fail(ctx, 1, "axes has ", axes.size(), " elements, needs ", n, ", one per operand");
  if (results.size() != outs || types.size() != outs) {
    return Fail(ctx, 2, "results has ", results.size(), " elements and types ", types.size(), ", needs ", outs, ", one per result");
  }
  AMPC_ASSIGN_OR_RETURN(const TensorType whole, WholeShape(ctx, axes));
  for (size_t i = 0; i < outs; ++i) {
    const std::optional<DType> type = ParseDType(types[i]);
    if (!type.has_value()) return Fail(ctx, 4, "types has '", types[i], "', needs the name of a type");
    ctx.Out("Out", static_cast<int>(i), whole.WithDType(*type));
  }
  return absl::OkStatus();
}

Cost FusedCost(const Op& op) {
  const AttrValue* attr = op.attr("steps");
  const double steps = attr != nullptr && std::holds_alternative<Strings>(*attr) ? static_cast<double>(std::get<Strings>(*attr).size()) : 1;
  return {ResultElements(op) * steps, TotalBytes(op)};
}

}  // namespace

OpDef FusedElementwiseDef() {
  return OpDef("fused_elementwise")
      .Doc(
          "Element-wise ops in one sweep: values v0, v1, ... are the operands and then the results of 'steps', each rounded to its type; "
          "with 'excess' only where a step is a cast.")
      .VarIn("X", kAsIs)
      .VarOut("Out", kAsIs)
      .Required("steps", Strings{})
      .Required("results", Ints{})
      .Required("axes", Ints{})
      .Required("types", Strings{})
      .A("excess", false)
      .Infer(InferFusedElementwise)
      .CostIs(FusedCost)
      .Amp(kNever, "made after every type is decided; its steps state their own types")
      .Gradient("none: made for execution, when gradients are ops already");
}

}  // namespace ampc::ops
