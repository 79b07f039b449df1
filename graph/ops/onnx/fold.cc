#include "graph/ops/onnx/fold.h"

#include <memory>
#include <utility>
#include <vector>

namespace ampc::onnx {
namespace {

// Larger results stay ops: a literal is held by the program and by every plan.
constexpr int64_t kMostFolded = 1 << 16;

void SetLiteral(Var& var, HostTensor value) {
  var.kind = VarKind::kConst;
  var.type = TensorType(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  var.literal = std::make_shared<const HostTensor>(std::move(value));
}

bool FoldShape(const Op& op) {
  if (op.type() != "shape" || !op.inputs()[0]->type.IsStatic()) return false;
  const Dims& dims = op.inputs()[0]->type.dims;
  Var& result = *op.outputs()[0];
  const int64_t count[] = {static_cast<int64_t>(dims.size())};
  const std::vector<int32_t> narrow(dims.begin(), dims.end());
  SetLiteral(result, result.type.dtype == DType::kI64 ? HostTensor::FromValues<int64_t>(count, dims)
                                                      : HostTensor::FromValues<int32_t>(count, narrow));
  return true;
}

}  // namespace

bool FoldOnConstants(const Op& op, const Evaluator* evaluator) {
  if (!op.def().pure || op.def().opaque || op.inputs().empty()) return false;
  for (const Var* var : op.outputs()) {
    if (var->kind != VarKind::kTemp || var->type.NumElements() > kMostFolded) return false;
  }
  if (FoldShape(op)) return true;
  if (evaluator == nullptr) return false;
  std::vector<const HostTensor*> operands;
  for (const Var* var : op.inputs()) {
    if (var->kind != VarKind::kConst || var->literal == nullptr || var->literal->num_elements() > kMostFolded) return false;
    operands.push_back(var->literal.get());
  }
  absl::StatusOr<std::vector<HostTensor>> values = evaluator->Evaluate(op, operands);
  if (!values.ok() || values->size() != op.outputs().size()) return false;
  for (size_t i = 0; i < values->size(); ++i) SetLiteral(*op.outputs()[i], std::move((*values)[i]));
  return true;
}

}  // namespace ampc::onnx
