#include "passes/onnx/lower_control.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/subgraph.h"
#include "passes/onnx/emit.h"
#include "passes/onnx/inline_block.h"
#include "passes/onnx/lower_loop.h"

namespace ampc::onnx {
namespace {

void ForgetShape(TensorType* type) {
  type->has_rank = false;
  type->dims.clear();
}

std::vector<Var*> Captures(const Op& op) {
  const absl::Span<Var* const> vars = op.inputs(op.def().InputSlot(kCaptures));
  return {vars.begin(), vars.end()};
}

// A file's declaration of the values of a block is a hint that ONNX Runtime does not insist on; of a loop's states it is often wrong,
// because the first iteration takes another shape than those that follow. So shapes are what follows from those around the block.
void ForgetShapes(Block& block) {
  for (const std::unique_ptr<Var>& var : block.vars()) {
    if (var->kind == VarKind::kTemp) ForgetShape(&var->type);
  }
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (const int inner : op->SubBlocks()) ForgetShapes(block.program().block(inner));
  }
}

void ForgetDeclared(Op& op) {
  for (const int index : op.SubBlocks()) ForgetShapes(op.block().program().block(index));
  for (Var* result : op.outputs()) ForgetShape(&result->type);
}

// The types of the results as far as the blocks tell.
absl::Status InferResults(Op& op) {
  AMPC_RETURN_IF_ERROR(InferSubBlocks(op).status());
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> types, InferOp(op, TypeEnv()));
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].has_value()) Fill(*types[i], &op.outputs()[i]->type);
  }
  return absl::OkStatus();
}

// The branch that a known condition takes, in place of the If.
absl::StatusOr<LoweredControl> TakeBranch(const Op& op, bool condition, Block& block) {
  LoweredControl out;
  AMPC_ASSIGN_OR_RETURN(const Subgraph taken, SubgraphOf(op, condition ? "then_branch" : "else_branch"));
  AMPC_ASSIGN_OR_RETURN(const Subgraph other, SubgraphOf(op, condition ? "else_branch" : "then_branch"));
  if (taken.outputs.size() != op.outputs().size()) {
    return BadInputError(absl::StrCat(Describe(op), ": its branch has ", taken.outputs.size(), " outputs, the op ", op.outputs().size()));
  }
  AddBlocksIn(*taken.block, &out.dead_blocks);
  AddBlocksIn(*other.block, &out.dead_blocks);
  out.ops = InlineBlock(*taken.block, block);
  const std::unique_ptr<Op> yield = std::move(out.ops.back());
  out.ops.pop_back();
  Emit emit(block);
  for (size_t i = 0; i < op.outputs().size(); ++i) emit.Into(op.outputs()[i], "assign", {{"X", {yield->inputs()[i]}}});
  AMPC_RETURN_IF_ERROR(emit.status());
  for (std::unique_ptr<Op>& assign : block.TakeOps()) out.ops.push_back(std::move(assign));
  return out;
}

// The block gives its outputs to `results` at its end.
absl::Status YieldInto(const Subgraph& graph, absl::Span<Var* const> results) {
  std::vector<std::unique_ptr<Op>> ops = graph.block->TakeOps();
  const std::unique_ptr<Op> yield = std::move(ops.back());
  ops.pop_back();
  graph.block->SetOps(std::move(ops));
  Emit emit(*graph.block);
  for (size_t i = 0; i < results.size(); ++i) emit.Into(results[i], "assign", {{"X", {yield->inputs()[i]}}});
  return emit.status();
}

absl::StatusOr<LoweredControl> LowerIf(Op& op, Block& block) {
  Var* condition = op.input("cond");
  const HostTensor* known = condition->literal.get();
  if (known != nullptr && known->dtype() == DType::kBool && known->num_elements() == 1)
    return TakeBranch(op, known->values<bool>()[0], block);
  AMPC_RETURN_IF_ERROR(InferResults(op));
  for (Var* result : op.outputs()) result->kind = VarKind::kCarry;
  const std::vector<Var*> results(op.outputs().begin(), op.outputs().end());
  for (const char* name : {"then_branch", "else_branch"}) {
    AMPC_ASSIGN_OR_RETURN(const Subgraph graph, SubgraphOf(op, name));
    AMPC_RETURN_IF_ERROR(YieldInto(graph, results));
    AMPC_RETURN_IF_ERROR(AppendOp(block, "conditional_block", {{"Cond", {condition}}, {"Input", Captures(op)}}, {{"Out", results}},
                                  {{"is_scalar_condition", true}, {"sub_block", BlockRef{graph.block->index()}}}, kRoleForward)
                             .status());
    Emit emit(block);
    if (name[0] == 't') condition = emit.Temp("no", "logical_not", {{"X", {condition}}});
    AMPC_RETURN_IF_ERROR(emit.status());
  }
  return LoweredControl{block.TakeOps(), {}};
}

}  // namespace

bool IsControl(const Op& op) { return DefOf(op.def()) != nullptr && !op.SubBlocks().empty(); }

absl::StatusOr<LoweredControl> LowerControl(std::unique_ptr<Op> op, Block& block) {
  const absl::string_view type = TypeName(op->def());
  ForgetDeclared(*op);
  if (type == "If") return LowerIf(*op, block);
  if (type != "Loop" && type != "Scan" && type != "SequenceMap")
    return UnsupportedError(absl::StrCat(Describe(*op), ": its subgraph cannot be executed"));
  AMPC_RETURN_IF_ERROR(InferResults(*op));
  AMPC_RETURN_IF_ERROR(type == "Loop" ? LowerLoop(*op, block) : type == "Scan" ? LowerScan(*op, block) : LowerSequenceMap(*op, block));
  return LoweredControl{block.TakeOps(), {}};
}

}  // namespace ampc::onnx
