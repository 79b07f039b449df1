#include "passes/onnx/inline_block.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/function_body.h"
#include "passes/onnx/emit.h"

namespace ampc::onnx {
namespace {

class Mover {
 public:
  // `to` stands for `from`, which is not moved.
  void Replace(const Var* from, Var* to) { moved_[from] = to; }
  Var* Moved(Var* var) const {
    const auto it = moved_.find(var);
    return it == moved_.end() ? var : it->second;
  }

  std::vector<std::unique_ptr<Op>> Move(Block& from, Block& to) {
    for (const std::unique_ptr<Var>& var : from.vars()) MoveVar(*var, to);
    std::vector<std::unique_ptr<Op>> out;
    for (const std::unique_ptr<Op>& op : from.TakeOps()) out.push_back(MoveOp(*op, to));
    return out;
  }

 private:
  void MoveVar(Var& from, Block& to) {
    if (moved_.contains(&from)) return;
    Var* var = to.AddVar(to.UniqueName(from.name()), from.kind, from.type);
    var->stop_gradient = from.stop_gradient;
    var->trainable = from.trainable;
    var->export_name = from.export_name;
    var->was = from.was;
    var->weight = std::move(from.weight);
    var->literal = from.literal;
    var->origin = from.origin;
    moved_[&from] = var;
  }

  std::vector<Var*> Moved(absl::Span<Var* const> vars) const {
    std::vector<Var*> out;
    for (Var* var : vars) out.push_back(Moved(var));
    return out;
  }
  // Those that a block reads from outside, without what has become a constant.
  std::vector<Var*> MovedCaptures(absl::Span<Var* const> vars) const {
    std::vector<Var*> out = Moved(vars);
    std::erase_if(out, [](const Var* var) { return var->kind == VarKind::kConst || var->kind == VarKind::kParam; });
    return out;
  }

  std::unique_ptr<Op> MoveOp(const Op& from, Block& to) {
    std::unique_ptr<Op> op = to.NewOp(&from.def());
    const int captures = from.def().InputSlot(kCaptures);
    for (int s = 0; s < static_cast<int>(from.def().inputs.size()); ++s)
      op->SetInputs(s, s == captures ? MovedCaptures(from.inputs(s)) : Moved(from.inputs(s)));
    for (int s = 0; s < static_cast<int>(from.def().outputs.size()); ++s) op->SetOutputs(s, Moved(from.outputs(s)));
    for (const Attr& attr : from.attrs()) op->SetAttr(attr.name, MoveBlocks(attr.value, to));
    op->marks = from.marks;
    op->line = from.line;
    op->lowered_from = from.lowered_from;
    op->origin = from.origin;
    return op;
  }

  AttrValue MoveBlocks(AttrValue value, Block& to) {
    if (auto* one = std::get_if<BlockRef>(&value)) MoveInner(*one, to);
    if (auto* list = std::get_if<std::vector<BlockRef>>(&value)) {
      for (BlockRef& ref : *list) MoveInner(ref, to);
    }
    return value;
  }

  void MoveInner(BlockRef& ref, Block& to) {
    Program& program = to.program();
    Block& from = program.block(ref.index);
    Block& inner = program.AddBlock(to.index(), absl::StrCat(from.name(), ".", program.num_blocks()));
    inner.SetOps(Move(from, inner));
    ref.index = inner.index();
  }

  absl::flat_hash_map<const Var*, Var*> moved_;
};

}  // namespace

std::vector<std::unique_ptr<Op>> InlineBlock(Block& from, Block& to) { return Mover().Move(from, to); }

absl::StatusOr<std::vector<std::unique_ptr<Op>>> InlineCall(const Op& call, Block& to) {
  Block& body = *FunctionBodyOf(call);
  Mover mover;
  std::vector<std::unique_ptr<Op>> ops = body.TakeOps();
  if (!ops.empty() && ops.front()->type() == kEnter) {
    const absl::Span<Var* const> formals = ops.front()->outputs();
    if (formals.size() != call.inputs().size())
      return BadInputError(absl::StrCat(Describe(call), ": its function takes ", formals.size(), " operands"));
    for (size_t i = 0; i < formals.size(); ++i) mover.Replace(formals[i], call.inputs()[i]);
    ops.erase(ops.begin());
  }
  if (ops.empty() || ops.back()->type() != kYield || ops.back()->inputs().size() != call.outputs().size()) {
    return BadInputError(absl::StrCat(Describe(call), ": its function does not give its results"));
  }
  body.SetOps(std::move(ops));
  std::vector<std::unique_ptr<Op>> out = mover.Move(body, to);
  const std::unique_ptr<Op> yield = std::move(out.back());
  out.pop_back();
  Emit emit(to);
  for (size_t i = 0; i < call.outputs().size(); ++i) emit.Into(call.outputs()[i], "assign", {{"X", {yield->inputs()[i]}}});
  AMPC_RETURN_IF_ERROR(emit.status());
  for (std::unique_ptr<Op>& assign : to.TakeOps()) out.push_back(std::move(assign));
  return out;
}

void AddBlocksIn(const Block& block, std::vector<int>* blocks) {
  blocks->push_back(block.index());
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (const int inner : op->SubBlocks()) AddBlocksIn(block.program().block(inner), blocks);
  }
}

}  // namespace ampc::onnx
