#include "graph/ops/control_flow_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// The type on which the operands agree.
absl::Status InferSelectInput(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedMask(ctx, 1));
  TensorType out = ctx.In("X", 0);
  for (int i = 1; i < ctx.Count("X"); ++i) {
    const TensorType& x = ctx.In("X", i);
    const bool same = x.kind == out.kind && (x.dtype == out.dtype || x.dtype == DType::kInvalid || out.dtype == DType::kInvalid);
    if (!same) return Fail(ctx, 2, "operand ", i, " of X is ", ToString(x), ", operand 0 is ", ToString(ctx.In("X", 0)));
    if (out.dtype == DType::kInvalid) out.dtype = x.dtype;
    if (!x.has_rank || !out.has_rank || x.rank() != out.rank()) {
      out.has_rank = false;
      out.dims.clear();
      continue;
    }
    for (int d = 0; d < out.rank(); ++d) {
      if (out.dims[d] != x.dims[d]) out.dims[d] = kUnknownDim;
    }
  }
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

OpDef SelectInputDef() {
  OpDef def("select_input");
  def.Doc("Out = operand number Mask of X, as it is; the others need not have a value: the branch that writes them may not have run.")
      .VarIn("X", kAsIs)
      .In("Mask", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferSelectInput)
      .CostIs(FreeCost)
      .Amp(kNever, "hands a value on; a cast in front of it would read the branch that did not run")
      .Gradient("none: control flow is not differentiated")
      .Impure()
      .Traits({OpTrait::kControlMove});
  def.outputs[0].overwrites = true;
  return def;
}

}  // namespace ampc::ops
