#include "graph/ops/fused_steps.h"

#include <algorithm>

namespace ampc::ops {
namespace {

bool IsNarrowFloat(DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16; }

}  // namespace

bool MayBeFusedStep(const Op& op) {
  if (!op.def().fused_step || op.outputs().size() != 1 || op.inputs().empty() || op.inputs().size() > kMaxFusedOperands) return false;
  for (const char* tensor : {"Min", "Max", "FactorTensor", "ScaleTensor"}) {
    if (op.input(tensor) != nullptr) return false;
  }
  for (const Var* var : op.inputs()) {
    if (!IsNarrowFloat(var->type.dtype) || !var->type.has_rank) return false;
  }
  return IsNarrowFloat(op.outputs()[0]->type.dtype) && op.outputs()[0]->type.has_rank;
}

int StepsOf(const Op& step) { return step.type() == "sum" ? std::max(1, static_cast<int>(step.inputs().size()) - 1) : 1; }

int64_t StepAxis(const Op& step, int flat, int64_t rank) {
  const int64_t own = step.inputs()[flat]->type.rank();
  const int64_t axis = step.GetInt("axis", -1);
  return own == rank || axis < 0 ? rank - own : axis;
}

}  // namespace ampc::ops
