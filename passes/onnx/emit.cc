#include "passes/onnx/emit.h"

#include <memory>
#include <utility>

#include "graph/ops/onnx/subgraph.h"

namespace ampc::onnx {

void Emit::Fail(absl::Status error) {
  if (status_.ok()) status_ = std::move(error);
}

Var* Emit::Temp(absl::string_view base, absl::string_view type, const SlotVars& operands, std::vector<Attr> attrs) {
  Var* result = NewTemp(block_, base);
  Into(result, type, operands, std::move(attrs));
  return result;
}

void Emit::Into(Var* result, absl::string_view type, const SlotVars& operands, std::vector<Attr> attrs) {
  if (!status_.ok()) return;
  const TensorType declared = result->type;
  Fail(AppendOp(block_, type, operands, {{"Out", {result}}}, std::move(attrs), kRoleForward).status());
  if (result->kind != VarKind::kTemp || declared.dtype == DType::kInvalid) return;
  const TensorType inferred = std::exchange(result->type, declared);
  Fill(inferred, &result->type);
}

Var* Emit::Carry(absl::string_view base, TensorType type) {
  return block_.AddVar(block_.UniqueName(base), VarKind::kCarry, std::move(type));
}

Var* Emit::Array(absl::string_view base, TensorType type) {
  type.kind = TypeKind::kTensorArray;
  return block_.AddVar(block_.UniqueName(base), VarKind::kState, std::move(type));
}

Var* Emit::Const(absl::string_view base, HostTensor value) {
  const TensorType type(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  Var* var = block_.AddVar(block_.UniqueName(base), VarKind::kConst, type);
  var->literal = std::make_shared<const HostTensor>(std::move(value));
  return var;
}

Var* Emit::Int(absl::string_view base, int64_t value) { return Const(base, HostTensor::Of<int64_t>({}, {value})); }

}  // namespace ampc::onnx
