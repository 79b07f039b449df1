#include "graph/ops/onnx/subgraph.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_memo.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/scan_axes.h"

namespace ampc::onnx {
namespace {

// A dim that grows in each iteration is unknown after the second round, a rank that grows after the third.
constexpr int kMaxRounds = 4;

absl::StatusOr<bool> InferOne(Op& op, InferMemo& memo) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>>* inferred, memo.Infer(op));
  const std::vector<std::optional<TensorType>>& results = *inferred;
  bool changed = false;
  for (size_t i = 0; i < results.size(); ++i) {
    Var& var = *op.outputs()[i];
    if (!results[i].has_value() || (var.type.kind != results[i]->kind && !var.type.LacksDType())) continue;
    TensorType known = *results[i];
    if (var.kind == VarKind::kCarry) {  // another op may write other dims
      known.has_rank = false;
      known.dims.clear();
    }
    changed = Fill(known, &var.type) || changed;
  }
  return changed;
}

using Types = std::vector<std::pair<Var*, TensorType>>;

// The types in `block` and in the blocks inside, as they are now.
void Save(const Block& block, Types* types) {
  for (const std::unique_ptr<Var>& var : block.vars()) types->emplace_back(var.get(), var->type);
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (const int index : op->SubBlocks()) Save(block.program().block(index), types);
  }
}

// One round over a body whose entries have the types `entry`, as far as they leave open.
absl::Status InferRound(const Subgraph& body, const Types& before, const std::vector<TensorType>& entry) {
  for (const auto& [var, type] : before) var->type = type;
  for (size_t i = 0; i < entry.size(); ++i) Fill(entry[i], &body.inputs[i]->type);
  return InferBlock(*body.block).status();
}

// Of a loop whose first entries, `given`, are the same in all iterations and whose others are the states: what it begins with, then what
// the body gives from output `first` on.
absl::Status InferLoopBody(const Subgraph& body, std::vector<TensorType> given, absl::Span<Var* const> states, size_t first) {
  const size_t fixed = given.size();
  if (body.inputs.size() != fixed + states.size() || body.outputs.size() < first + states.size()) return InferBlock(*body.block).status();
  Types before;
  Save(*body.block, &before);
  std::vector<TensorType> entry = std::move(given);
  for (const Var* state : states) entry.push_back(state->type);
  for (int round = 0;; ++round) {
    AMPC_RETURN_IF_ERROR(InferRound(body, before, entry));
    bool changed = false;
    for (size_t i = 0; i < states.size(); ++i) {
      TensorType& type = entry[fixed + i];
      const TensorType both = Union(type, body.outputs[first + i]->type);
      if (both == type) continue;
      changed = true;
      type = round < kMaxRounds ? both : TensorType::Unranked(both.dtype);
    }
    if (!changed || round > kMaxRounds) return absl::OkStatus();
  }
}

TensorType RankZero(DType dtype) {
  TensorType type = TensorType::Unranked(dtype);
  type.has_rank = true;
  return type;
}

absl::Status InferLoop(Op& op) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(op, "body"));
  return InferLoopBody(body, {RankZero(DType::kI64), RankZero(DType::kBool)}, op.inputs(op.def().InputSlot("v_initial")), 1);
}

// States keep their shape, so one round is enough.
absl::Status InferScan(Op& op) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(op, "body"));
  AMPC_ASSIGN_OR_RETURN(const ScanAxes axes, ReadScanAxes(op));
  for (size_t i = 0; i < body.inputs.size() && i < axes.operands.size(); ++i) {
    Fill(axes.EntryType(static_cast<int>(i)), &body.inputs[i]->type);
  }
  return InferBlock(*body.block).status();
}

// The body sees one element at a time.
absl::Status InferSequenceMap(Op& op) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(op, "body"));
  const size_t operands = op.inputs().size() - op.inputs(op.def().InputSlot(kCaptures)).size();
  for (size_t i = 0; i < body.inputs.size() && i < operands; ++i) {
    const TensorType& type = op.inputs()[i]->type;
    Fill(type.kind == TypeKind::kTensorArray ? TensorType::Unranked(type.dtype) : type, &body.inputs[i]->type);
  }
  return InferBlock(*body.block).status();
}

// Of an op whose blocks take what the op has.
absl::Status InferBody(Op& op, absl::string_view type) {
  if (type == "Loop") return InferLoop(op);
  return type == "Scan" ? InferScan(op) : InferSequenceMap(op);
}

}  // namespace

absl::StatusOr<Subgraph> SubgraphOf(const Op& op, absl::string_view name) {
  const AttrValue* value = op.attr(name);
  const BlockRef* ref = value == nullptr ? nullptr : std::get_if<BlockRef>(value);
  Program& program = op.block().program();
  if (ref == nullptr || ref->index <= 0 || ref->index >= program.num_blocks()) {
    return BadInputError(absl::StrCat(Describe(op), ": attribute ", name, " refers to no block"));
  }
  Subgraph out;
  out.block = &program.block(ref->index);
  const std::vector<std::unique_ptr<Op>>& ops = out.block->ops();
  if (ops.empty() || ops.back()->type() != kYield) {
    return BadInputError(absl::StrCat(Describe(op), ": block '", out.block->name(), "' does not end with ", kYield));
  }
  if (ops.front()->type() == kEnter) out.inputs = ops.front()->outputs();
  out.outputs = ops.back()->inputs();
  return out;
}

bool Fill(const TensorType& inferred, TensorType* have) {
  bool changed = false;
  if (have->LacksDType() && inferred.kind == TypeKind::kTensorArray) {
    *have = inferred;
    return true;
  }
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

TensorType Union(const TensorType& a, const TensorType& b) {
  if (a.kind != b.kind) return a.LacksDType() ? b : a;
  TensorType out = a;
  if (out.dtype == DType::kInvalid) out.dtype = b.dtype;
  if (!a.has_rank || !b.has_rank || a.rank() != b.rank()) {
    out.has_rank = false;
    out.dims.clear();
    return out;
  }
  for (int i = 0; i < out.rank(); ++i) {
    if (a.dims[i] != b.dims[i]) out.dims[i] = kUnknownDim;
  }
  return out;
}

absl::StatusOr<bool> InferSubBlocks(Op& op) {
  const std::vector<int> blocks = op.SubBlocks();
  if (blocks.empty()) return false;
  const absl::string_view type = TypeName(op.def());
  if (DefOf(op.def()) != nullptr && (type == "Loop" || type == "Scan" || type == "SequenceMap")) {
    Types before;
    Save(op.block().program().block(blocks[0]), &before);
    AMPC_RETURN_IF_ERROR(InferBody(op, type));
    for (const auto& [var, known] : before) {
      if (!(var->type == known)) return true;
    }
    return false;
  }
  bool changed = false;
  for (const int index : blocks) {
    AMPC_ASSIGN_OR_RETURN(const bool inner, InferBlock(op.block().program().block(index)));
    changed = changed || inner;
  }
  return changed;
}

// A body runs where its control op stands, so its types are settled before what follows.
absl::StatusOr<bool> InferBlock(Block& block) {
  bool changed = false;
  InferMemo memo;
  for (const std::unique_ptr<Op>& op : block.ops()) {
    AMPC_ASSIGN_OR_RETURN(const bool inner, InferSubBlocks(*op));
    AMPC_ASSIGN_OR_RETURN(const bool one, InferOne(*op, memo));
    changed = changed || inner || one;
  }
  return changed;
}

}  // namespace ampc::onnx
