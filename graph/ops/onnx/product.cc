// Matrix products and what is made of them.
#include <utility>
#include <vector>

#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/product.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// x times a factor that an attribute gives; integers take 1 only.
Var* Scaled(Lowering& l, Var* x, const char* attr) {
  const float factor = static_cast<float>(l.GetFloat(attr));
  if (factor == 1) return x;
  if (!IsFloat(TypeOf(l, x))) {
    l.Unsupported(std::string(attr) + " is not 1 for integers");
    return x;
  }
  return Map(l, "scale", x, {{"scale", factor}});
}

void LowerGemm(Lowering& l) { l.Result("Y", GemmProduct(l)); }

void LowerEinsum(Lowering& l) {
  std::vector<Var*> operands;
  for (int i = 0; i < l.Count("Inputs"); ++i) operands.push_back(l.In("Inputs", i));
  l.Result("Output", l.Op("einsum", {{"Operands", std::move(operands)}}, {{"equation", l.GetString("equation")}}));
}

void LowerDet(Lowering& l) { l.Result("Y", l.Op("determinant", {{"Input", l.In("X")}})); }

}  // namespace

Var* GemmProduct(Lowering& l) {
  Var* y =
      l.Op("matmul_v2", {{"X", l.In("A")}, {"Y", l.In("B")}}, {{"trans_x", l.GetInt("transA") != 0}, {"trans_y", l.GetInt("transB") != 0}});
  y = Scaled(l, y, "alpha");
  return l.Has("C") && l.GetFloat("beta") != 0 ? l.Binary("elementwise_add", y, Scaled(l, l.In("C"), "beta")) : y;
}

void AddProduct(OnnxOps& ops) {
  ops.Add("MatMul").SameAs("matmul_v2").Weights(WeightUse::kProduct);
  ops.Add("Gemm")
      .Like("matmul_v2")
      .Weights(WeightUse::kProduct)
      .Use("alpha", AttrUse::kScales)
      .Use("beta", AttrUse::kScales)
      .Lower(&LowerGemm);
  ops.Add("Einsum").Like("einsum").Lower(&LowerEinsum);
  ops.Add("Det").Like("determinant").Lower(&LowerDet);
}

}  // namespace ampc::onnx
