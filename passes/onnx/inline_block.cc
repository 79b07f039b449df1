#include "passes/onnx/inline_block.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace ampc::onnx {
namespace {

class Mover {
 public:
  std::vector<std::unique_ptr<Op>> Move(Block& from, Block& to) {
    for (const std::unique_ptr<Var>& var : from.vars()) MoveVar(*var, to);
    std::vector<std::unique_ptr<Op>> out;
    for (const std::unique_ptr<Op>& op : from.TakeOps()) out.push_back(MoveOp(*op, to));
    return out;
  }

 private:
  void MoveVar(Var& from, Block& to) {
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
    for (Var* var : vars) {
      const auto it = moved_.find(var);
      out.push_back(it == moved_.end() ? var : it->second);
    }
    return out;
  }

  std::unique_ptr<Op> MoveOp(const Op& from, Block& to) {
    std::unique_ptr<Op> op = to.NewOp(&from.def());
    for (int s = 0; s < static_cast<int>(from.def().inputs.size()); ++s) op->SetInputs(s, Moved(from.inputs(s)));
    for (int s = 0; s < static_cast<int>(from.def().outputs.size()); ++s) op->SetOutputs(s, Moved(from.outputs(s)));
    for (const Attr& attr : from.attrs()) op->SetAttr(attr.name, MoveBlocks(attr.value, to));
    op->marks = from.marks;
    op->line = from.line;
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

void AddBlocksIn(const Block& block, std::vector<int>* blocks) {
  blocks->push_back(block.index());
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (const int inner : op->SubBlocks()) AddBlocksIn(block.program().block(inner), blocks);
  }
}

}  // namespace ampc::onnx
