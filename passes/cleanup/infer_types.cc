#include "passes/cleanup/infer_types.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/verify.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// Takes from `inferred` what `have` leaves open.
bool Fill(const TensorType& inferred, TensorType* have) {
  bool changed = false;
  if (have->dtype == DType::kInvalid && inferred.dtype != DType::kInvalid) {
    have->dtype = inferred.dtype;
    changed = true;
  }
  if (!inferred.has_rank) return changed;
  if (!have->has_rank) {
    have->has_rank = true;
    have->dims = inferred.dims;
    return true;
  }
  for (size_t i = 0; i < have->dims.size() && i < inferred.dims.size(); ++i) {
    if (have->dims[i] != kUnknownDim || inferred.dims[i] == kUnknownDim) continue;
    have->dims[i] = inferred.dims[i];
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> InferOne(Op& op) {
  static const TypeEnv kDeclared;
  AMPC_ASSIGN_OR_RETURN(std::vector<std::optional<TensorType>> results, InferOp(op, kDeclared));
  bool changed = false;
  for (size_t i = 0; i < results.size(); ++i) {
    Var& var = *op.outputs()[i];
    if (!results[i].has_value() || var.type.kind != results[i]->kind) continue;
    // Another op may write other dims.
    const TensorType& known = var.kind == VarKind::kCarry ? TensorType::Unranked(results[i]->dtype) : *results[i];
    changed = Fill(known, &var.type) || changed;
  }
  return changed;
}

// A body runs where its control op stands, so its types are settled before what follows.
absl::StatusOr<bool> InferBlock(Program& program, Block& block) {
  bool changed = false;
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (int index : op->SubBlocks()) {
      AMPC_ASSIGN_OR_RETURN(const bool inner, InferBlock(program, program.block(index)));
      changed = changed || inner;
    }
    AMPC_ASSIGN_OR_RETURN(const bool one, InferOne(*op));
    changed = changed || one;
  }
  return changed;
}

}  // namespace

PassInfo InferTypesPass() {
  return SimplePass("infer-types", "fills the types that importers leave open",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return InferBlock(program, program.main()); });
}

PassInfo VerifyPass() {
  return SimplePass("verify", "checks that the program is well formed", [](PassContext&, Program& program) -> absl::StatusOr<bool> {
    AMPC_RETURN_IF_ERROR(Verify(program));
    return false;
  });
}

}  // namespace ampc
