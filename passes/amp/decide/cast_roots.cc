#include "passes/amp/decide/cast_roots.h"

#include "passes/amp/decide/decision.h"

namespace ampc {

CastRoots::CastRoots(const Program& program) : roots_(program.num_var_ids(), nullptr) {
  ForEachVar(program, [this](const Var& var) { roots_[var.id()] = &var; });
  ForEachOp(program, [this](const Op& op) {
    if (!IsInserted(op) || op.inputs().size() != 1 || op.outputs().size() != 1 || op.outputs()[0]->kind != VarKind::kTemp) return;
    roots_[op.outputs()[0]->id()] = roots_[op.inputs()[0]->id()];
  });
}

}  // namespace ampc
