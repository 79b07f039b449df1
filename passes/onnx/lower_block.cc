#include "passes/onnx/lower_block.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/fold.h"
#include "graph/ops/onnx/function_body.h"
#include "graph/ops/onnx/lowering.h"
#include "passes/onnx/inline_block.h"
#include "passes/onnx/lower_control.h"

namespace ampc::onnx {
namespace {

// The position among the results of `op`, -1 when it does not define `var`.
int ResultIndex(const Op& op, const Var* var) {
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    if (op.outputs()[i] == var) return static_cast<int>(i);
  }
  return -1;
}

void Narrow(const TensorType& known, TensorType* type) {
  if (type->LacksDType() && known.kind == TypeKind::kTensorArray) *type = known;
  if (type->dtype == DType::kInvalid) type->dtype = known.dtype;
  if (!known.has_rank) return;
  if (!type->has_rank || type->dims.size() != known.dims.size()) {
    type->has_rank = true;
    type->dims = known.dims;
    return;
  }
  for (size_t i = 0; i < type->dims.size(); ++i) {
    if (IsKnown(known.dims[i]) || type->dims[i] == kUnknownDim) type->dims[i] = known.dims[i];
  }
}

// Types of operands that became known on the way tell more of the results, too.
absl::Status NarrowResults(Op& op) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> types, InferOp(op, TypeEnv()));
  for (size_t i = 0; i < types.size(); ++i) {
    Var& result = *op.outputs()[i];
    if (types[i].has_value() && result.kind == VarKind::kTemp && result.type.kind == types[i]->kind) Narrow(*types[i], &result.type);
  }
  return absl::OkStatus();
}

// An op that makes or reads strings, a map, an optional value that is not there or numbers of a type that has no kernels; of one with
// blocks, what those take and give.
absl::Status CheckTensors(const Op& op) {
  const auto check = [&op](absl::Span<Var* const> vars) {
    for (const Var* var : vars) {
      if (var->type.kind != TypeKind::kOpaque) continue;
      return UnsupportedError(absl::StrCat(Describe(op), ": '", var->name(),
                                           "' holds strings, is absent or of a type that is not executed, so the op is not either"));
    }
    return absl::OkStatus();
  };
  AMPC_RETURN_IF_ERROR(check(op.inputs()));
  AMPC_RETURN_IF_ERROR(check(op.outputs()));
  for (const int index : op.SubBlocks()) {
    const std::vector<std::unique_ptr<Op>>& ops = op.block().program().block(index).ops();
    if (ops.empty()) continue;
    if (ops.front()->type() == kEnter) AMPC_RETURN_IF_ERROR(check(ops.front()->outputs()));
    if (ops.back()->type() == kYield) AMPC_RETURN_IF_ERROR(check(ops.back()->inputs()));
  }
  return absl::OkStatus();
}

// A model that ONNX Runtime's optimizer wrote for its own machine has the layout of that machine's kernels.
absl::Status CheckDomain(const Op& op) {
  if (!op.def().opaque || !absl::StartsWith(op.type(), "com.microsoft.nchwc.")) return absl::OkStatus();
  return UnsupportedError(absl::StrCat(
      Describe(op),
      ": ONNX Runtime saved the model at optimisation level 'all', for one machine; saved at level 'extended' it can be executed"));
}

}  // namespace

BlockLowerer::BlockLowerer(Program& program, const Evaluator* evaluator, QuantizedOps quantized)
    : program_(program), evaluator_(evaluator), quantized_(quantized), fetched_(program.num_var_ids(), false) {
  for (const Var* var : program.fetches) fetched_[var->id()] = true;
}

absl::Status BlockLowerer::Run(Block& block) {
  std::vector<std::unique_ptr<Op>> out;
  const absl::Status status = RunOps(block, block.TakeOps(), &out);
  block.SetOps(std::move(out));
  return status;
}

absl::Status BlockLowerer::RunOps(Block& block, std::vector<std::unique_ptr<Op>> ops, std::vector<std::unique_ptr<Op>>* out) {
  out->reserve(out->size() + ops.size());
  for (std::unique_ptr<Op>& op : ops) {
    if (op->def().opaque || DefOf(op->def()) != nullptr) AMPC_RETURN_IF_ERROR(CheckTensors(*op));
    if (IsControl(*op)) {
      AMPC_ASSIGN_OR_RETURN(LoweredControl lowered, LowerControl(std::move(op), block));
      changed_ = true;
      dead_blocks_.insert(dead_blocks_.end(), lowered.dead_blocks.begin(), lowered.dead_blocks.end());
      AMPC_RETURN_IF_ERROR(RunOps(block, std::move(lowered.ops), out));
      continue;
    }
    if (const Block* body = FunctionBodyOf(*op)) {
      AddBlocksIn(*body, &dead_blocks_);
      AMPC_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Op>> inlined, InlineCall(*op, block));
      changed_ = true;
      AMPC_RETURN_IF_ERROR(RunOps(block, std::move(inlined), out));
      continue;
    }
    for (int sub : op->SubBlocks()) AMPC_RETURN_IF_ERROR(Run(program_.block(sub)));
    AMPC_RETURN_IF_ERROR(LowerOp(std::move(op), block, out));
  }
  return absl::OkStatus();
}

bool BlockLowerer::IsFetched(const Var& var) const { return var.id() < static_cast<int>(fetched_.size()) && fetched_[var.id()]; }

absl::Status BlockLowerer::LowerOp(std::unique_ptr<Op> op, Block& block, std::vector<std::unique_ptr<Op>>* out) {
  const OnnxDef* def = DefOf(op->def());
  if (def == nullptr) {
    AMPC_RETURN_IF_ERROR(CheckDomain(*op));
    AMPC_RETURN_IF_ERROR(NarrowResults(*op));
    const bool stays = op->outputs().size() != 1 || IsFetched(*op->outputs()[0]) || !FoldOnConstants(*op, evaluator_);
    if (stays) {
      out->push_back(std::move(op));
    } else {
      changed_ = true;
    }
    return absl::OkStatus();
  }
  if (def->op->lower == nullptr && !def->op->same) {
    return UnsupportedError(absl::StrCat(Describe(*op), ": there is no kernel for the ONNX operator ", def->schema->type));
  }
  Lowering lowering(*op, block, evaluator_, quantized_);
  if (def->op->lower != nullptr) {
    def->op->lower(lowering);
  } else {
    lowering.SameAs(def->op->native);
  }
  AMPC_RETURN_IF_ERROR(lowering.status());
  if (lowering.needs_shape()) {
    AMPC_RETURN_IF_ERROR(NarrowResults(*op));
    out->push_back(std::move(op));
    return absl::OkStatus();
  }
  std::vector<std::unique_ptr<Op>> made = lowering.TakeOps();
  for (size_t i = 0; i < op->outputs().size(); ++i) {
    Var* value = lowering.results()[i];
    if (value == nullptr)
      return UnsupportedError(absl::StrCat(Describe(*op), ": result ", i, " is not computed with these operands and attributes"));
    for (size_t j = 0; j < i; ++j) {
      if (lowering.results()[j] == value) value = op->outputs()[j];  // which took its name
    }
    AMPC_RETURN_IF_ERROR(Bind(op->outputs()[i], value, block, &made));
  }
  out->insert(out->end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  changed_ = true;
  return absl::OkStatus();
}

absl::Status BlockLowerer::Bind(Var* result, Var* value, Block& block, std::vector<std::unique_ptr<Op>>* made) const {
  const DType dtype = result->type.dtype;
  if (dtype != DType::kInvalid && value->type.dtype != DType::kInvalid && dtype != value->type.dtype) {
    return InternalError(absl::StrCat("'", result->name(), "' is ", Name(dtype), ", its lowering gives ", Name(value->type.dtype)));
  }
  Narrow(value->type, &result->type);
  if (value->kind == VarKind::kConst && result->kind == VarKind::kTemp && !IsFetched(*result)) {
    result->kind = VarKind::kConst;
    result->type = value->type;
    result->literal = value->literal;
    return absl::OkStatus();
  }
  for (std::unique_ptr<Op>& op : *made) {
    const int at = value->kind == VarKind::kTemp ? ResultIndex(*op, value) : -1;
    if (at < 0) continue;
    op->ReplaceOutput(at, result);
    for (std::unique_ptr<Op>& reader : *made) {
      for (size_t i = 0; i < reader->inputs().size(); ++i) {
        if (reader->inputs()[i] == value) reader->ReplaceInput(static_cast<int>(i), result);
      }
    }
    return absl::OkStatus();
  }
  std::unique_ptr<Op> assign = block.NewOp(Ops().Find("assign"));
  assign->SetInputs(0, {&value, 1});
  assign->SetOutputs(0, {&result, 1});
  made->push_back(std::move(assign));
  return absl::OkStatus();
}

}  // namespace ampc::onnx
