#include "passes/cleanup/infer_types.h"

#include <optional>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/subgraph.h"
#include "graph/verify.h"
#include "passes/analysis/shape_values.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

absl::StatusOr<bool> InferAgain(Op& op) {
  static const TypeEnv kDeclared;
  AMPC_ASSIGN_OR_RETURN(bool changed, onnx::InferSubBlocks(op));
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> results, InferOp(op, kDeclared));
  for (size_t i = 0; i < results.size(); ++i) {
    Var& var = *op.outputs()[i];
    if (!results[i].has_value() || var.kind != VarKind::kTemp || (var.type.kind != results[i]->kind && !var.type.LacksDType())) continue;
    // A declaration in an ONNX model is a hint.
    const bool refuted = onnx::DefOf(op.def()) != nullptr && !Compatible(*results[i], var.type);
    if (refuted) var.type = *results[i];
    changed = onnx::Fill(*results[i], &var.type) || refuted || changed;
  }
  return changed;
}

// Dims that go through shape arithmetic: a second sweep, which infers again behind the first that was found.
absl::StatusOr<bool> InferFromShapeValues(Program& program) {
  ShapeValues shapes;
  bool changed = false;
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    if (changed) AMPC_RETURN_IF_ERROR(InferAgain(*op).status());
    if (op->outputs().size() == 1 && op->outputs()[0]->kind == VarKind::kTemp) {
      TensorType& type = op->outputs()[0]->type;
      const std::optional<Dims> dims = type.IsStatic() ? std::nullopt : shapes.ResultDims(*op);
      if (dims.has_value()) changed = onnx::Fill(TensorType(type.dtype, *dims), &type) || changed;
    }
    shapes.Add(*op);
  }
  return changed;
}

}  // namespace

PassInfo InferTypesPass() {
  PassInfo info =
      SimplePass("infer-types", "fills the types that importers leave open", [](PassContext&, Program& program) -> absl::StatusOr<bool> {
        AMPC_ASSIGN_OR_RETURN(const bool inferred, onnx::InferBlock(program.main()));
        AMPC_ASSIGN_OR_RETURN(const bool followed, InferFromShapeValues(program));
        return inferred || followed;
      });
  info.completes = true;
  return info;
}

PassInfo VerifyPass() {
  return SimplePass("verify", "checks that the program is well formed", [](PassContext&, Program& program) -> absl::StatusOr<bool> {
    AMPC_RETURN_IF_ERROR(Verify(program));
    return false;
  });
}

}  // namespace ampc
