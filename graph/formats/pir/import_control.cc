#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/pir/importer.h"
#include "graph/formats/pir/undo.h"
#include "graph/formats/pir/values.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc::pir {

// The block of a region, with `first` entries in front of its own arguments. `captures` gets what it reads of the blocks around it.
absl::StatusOr<Block*> Importer::ImportRegion(Block& block, JsonRef region, const std::vector<Entry>& first, std::vector<Var*>* captures,
                                              size_t* yields) {
  AMPC_ASSIGN_OR_RETURN(const uint32_t node, BlockOf(region));
  const JsonRef text = origin_->tape.at(node);
  Block& inner = program_.AddBlock(block.index(), absl::StrCat("block", program_.num_blocks()));
  origin_->blocks.push_back(node);
  captures_.emplace_back();
  std::vector<Var*> entries;
  for (const Entry& entry : first) {
    std::string name = inner.UniqueName(entry.first);
    while (reserved_.contains(name)) name += "_";
    entries.push_back(inner.AddVar(std::move(name), VarKind::kTemp, entry.second));
  }
  for (const JsonRef arg : text.Find("args")) {
    const std::optional<int64_t> id = arg.Find("#").AsInt();
    if (!id.has_value()) return Error(absl::StrCat("the block at byte ", text.begin_offset(), " has an argument without a number"));
    absl::StatusOr<TensorType> type = ReadType(arg.Find("TT"));
    if (!type.ok()) return Annotate(type.status(), absl::StrCat(files_.model, ": the block at byte ", text.begin_offset()));
    entries.push_back(AddVar(inner, *id, "arg", VarKind::kTemp, *std::move(type)));
    AMPC_RETURN_IF_ERROR(Define(*id, {{entries.back()}}));
  }
  if (!entries.empty()) {
    std::unique_ptr<Op> enter = inner.NewOp(onnx::FindOp(onnx::kEnter));
    enter->SetOutputs(0, entries);
    inner.Append(std::move(enter));
  }
  Vars outputs;
  AMPC_RETURN_IF_ERROR(ImportOps(inner, text, &outputs));
  std::unique_ptr<Op> yield = inner.NewOp(onnx::FindOp(onnx::kYield));
  yield->SetInputs(0, outputs);
  inner.Append(std::move(yield));
  *yields = outputs.size();
  for (Var* var : captures_[inner.index()]) {
    if (std::find(captures->begin(), captures->end(), var) == captures->end()) captures->push_back(var);
  }
  return &inner;
}

absl::Status Importer::ImportIf(Block& block, JsonRef op) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<Operand> operands, Operands(op));
  const JsonRef regions = op.Find("regions");
  if (operands.size() != 1 || operands[0].value == nullptr || operands[0].value->vars.size() != 1 || regions.size() != 2) {
    return ErrorAt(op, "needs a condition and two regions");
  }
  std::unique_ptr<Op> made = block.NewOp(onnx::FindOp("onnx.If"));
  made->SetInputs(made->def().InputSlot("cond"), {Read(block, operands[0].value->vars[0])});
  std::vector<Var*> captures;
  const char* const names[] = {"then_branch", "else_branch"};
  for (size_t i = 0; i < 2; ++i) {
    size_t yields = 0;
    AMPC_ASSIGN_OR_RETURN(const Block* branch, ImportRegion(block, regions[i], {}, &captures, &yields));
    if (yields != op.Find("O").size())
      return ErrorAt(op, absl::StrCat("a branch yields ", yields, " values, the op has ", op.Find("O").size(), " results"));
    made->SetAttr(names[i], BlockRef{branch->index()});
  }
  made->SetInputs(made->def().InputSlot(onnx::kCaptures), captures);
  AMPC_RETURN_IF_ERROR(AddStates(block, op, "outputs", made.get()));
  Append(block, op, std::move(made));
  return absl::OkStatus();
}

// A Loop of ONNX without a limit; it counts its iterations and tells its body that it runs, which PIR's does not: two entries that nothing
// reads.
absl::Status Importer::ImportWhile(Block& block, JsonRef op) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<Operand> operands, Operands(op));
  const JsonRef regions = op.Find("regions");
  if (operands.empty() || regions.size() != 1 || operands.size() != op.Find("O").size() + 1) {
    return ErrorAt(op, "needs a condition, a region, and a result for each further operand");
  }
  std::vector<Var*> initial;
  for (const Operand& operand : operands) {
    if (operand.value == nullptr || operand.value->vars.size() != 1 || operand.value->list)
      return ErrorAt(op, "carries something other than tensors");
    initial.push_back(Read(block, operand.value->vars[0]));
  }
  std::unique_ptr<Op> made = block.NewOp(onnx::FindOp("onnx.Loop"));
  made->SetInputs(made->def().InputSlot("cond"), {initial[0]});
  made->SetInputs(made->def().InputSlot("v_initial"), absl::MakeConstSpan(initial).subspan(1));
  std::vector<Var*> captures;
  size_t yields = 0;
  TensorType count = TensorType::Unranked(DType::kI64);
  count.has_rank = true;
  const std::vector<Entry> counters = {{"iteration", count}, {"running", initial[0]->type}};
  AMPC_ASSIGN_OR_RETURN(const Block* body, ImportRegion(block, regions[0], counters, &captures, &yields));
  if (yields != operands.size())
    return ErrorAt(op, absl::StrCat("its block yields ", yields, " values, the op has ", operands.size(), " operands"));
  if (origin_->tape.at(origin_->blocks[body->index()]).Find("args").size() + 1 != operands.size()) {
    return ErrorAt(op, absl::StrCat("its block does not have ", operands.size() - 1, " arguments"));
  }
  made->SetAttr("body", BlockRef{body->index()});
  made->SetInputs(made->def().InputSlot(onnx::kCaptures), captures);
  AMPC_RETURN_IF_ERROR(AddStates(block, op, "v_final_and_scan_outputs", made.get()));
  Append(block, op, std::move(made));
  return absl::OkStatus();
}

// All results in one slot.
absl::Status Importer::AddStates(Block& block, JsonRef op, absl::string_view slot, Op* made) {
  std::vector<Var*> vars;
  const std::string undo = UndoOf(op);
  for (const JsonRef result : op.Find("O")) {
    const std::optional<int64_t> id = result.Find("%").AsInt();
    if (!id.has_value() || ElementTypes(result.Find("TT")).exists()) return ErrorAt(op, "a result without a number, or a list");
    AMPC_ASSIGN_OR_RETURN(Value value, MakeResult(block, op, result, PaddleOpName(op)));
    const paddle::VarUndo marks = ValueUndo(undo, vars.size());
    if (!marks.was.empty()) value.vars[0]->was = marks.was[0];
    vars.push_back(value.vars[0]);
    AMPC_RETURN_IF_ERROR(Define(*id, std::move(value)));
  }
  made->SetOutputs(made->def().OutputSlot(slot), vars);
  return absl::OkStatus();
}

}  // namespace ampc::pir
