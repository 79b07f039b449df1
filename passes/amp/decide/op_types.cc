#include "passes/amp/decide/op_types.h"

#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

bool WasF32(const Var& var) { return (IsRetyped(var) ? var.was : var.type.dtype) == DType::kF32; }

}  // namespace

bool HasFloatResult(const Op& op) {
  for (const Var* var : op.outputs()) {
    if (var->type.IsFloat()) return true;
  }
  return false;
}

const Var* UnknownOperand(const Op& op, DType low) {
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var* var = op.inputs()[i];
    if (var->type.LacksDType() && InputPrecisionFor(op.def(), op.InputSlotOf(i), low) == SlotPrecision::kFollow) return var;
  }
  return nullptr;
}

bool OverwritesFloatState(const Op& op) {
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
    const Var& var = *op.outputs()[i];
    const bool kept = var.kind == VarKind::kParam || var.kind == VarKind::kState;
    if (kept && var.type.IsFloat() && op.def().outputs[op.OutputSlotOf(i)].precision == SlotPrecision::kFollow) return true;
  }
  return false;
}

bool ListsForBodies(const Op& op, int flat) {
  return !op.SubBlocks().empty() && (!op.def().opaque || op.InputSlotOf(flat) == op.def().InputSlot(onnx::kCaptures));
}

bool IsIdentityCast(const Op& op, const CastRoots& roots) {
  if (!IsCast(op) || IsInserted(op) || op.outputs()[0]->kind != VarKind::kTemp) return false;
  return WasF32(roots.Root(*op.inputs()[0])) && WasF32(*op.outputs()[0]);
}

}  // namespace ampc
