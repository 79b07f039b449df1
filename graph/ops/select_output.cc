#include "graph/ops/control_flow_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSelectOutput(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedMask(ctx, 1));
  for (int i = 0; i < ctx.NumOut("Out"); ++i) ctx.Out("Out", i, ctx.In("X"));
  return absl::OkStatus();
}

}  // namespace

OpDef SelectOutputDef() {
  OpDef def("select_output");
  def.Doc("Result number Mask of Out = X; the others are left without a value.")
      .In("X", kAsIs)
      .In("Mask", kAsIs)
      .VarOut("Out", kAsIs)
      .Infer(InferSelectOutput)
      .CostIs(FreeCost)
      .Amp(kNever, "hands a value on; the branch that reads it decides its type")
      .Gradient("none: control flow is not differentiated")
      .Impure();
  def.outputs[0].overwrites = true;
  return def;
}

}  // namespace ampc::ops
