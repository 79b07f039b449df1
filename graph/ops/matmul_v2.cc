#include "graph/ops/infer_util.h"
#include "graph/ops/matmul_util.h"

namespace ampc::ops {

OpDef MatmulV2Def() {
  OpDef def("matmul_v2");
  def.Doc("Matrix product of the last two dimensions of X and Y, each transposed on request; leading dimensions broadcast.")
      .In("X")
      .In("Y")
      .Out("Out")
      .A("trans_x", false)
      .A("trans_y", false)
      .Infer([](InferContext& ctx) { return InferMatmul(ctx, ctx.op().GetBool("trans_x"), ctx.op().GetBool("trans_y")); })
      .CostIs([](const Op& op) { return MatmulCost(op, "trans_x"); })
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes")
      .GradientOp({"X Y", "Out", "X Y"})
      .Weights(WeightUse::kProduct)
      .Alias("onnx", "MatMul");
  return MatmulExtras(def);
}

}  // namespace ampc::ops
