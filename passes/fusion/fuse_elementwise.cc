#include "passes/fusion/fuse_elementwise.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/op_registry.h"
#include "graph/ops/fused_steps.h"
#include "graph/text/printer.h"
#include "passes/analysis/shape_symbols.h"
#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using ops::kMaxFusedOperands;
using ops::kMaxFusedResults;
using ops::kMaxFusedSteps;

// A value from outside, and where its dimensions start in the shape of the group's values.
struct Operand {
  Var* var;
  int64_t axis;
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Group {
  std::vector<size_t> steps;  // positions in the block, in order
  int size = 0;               // as ops::StepsOf counts them
  std::vector<Operand> operands;
  absl::flat_hash_map<const Var*, int> unread;  // values of steps: how many of their readers are not steps; a fetch counts
  const Var* shape = nullptr;                   // any of the values
};

class ElementwiseFuser {
 public:
  ElementwiseFuser(Program& program, bool excess)
      : program_(program), excess_(excess), uses_(program), shapes_(program), fused_(Ops().Find("fused_elementwise")) {}

  bool Run() {
    if (fused_ == nullptr) return false;
    bool changed = false;
    for (int b = 0; b < program_.num_blocks(); ++b) changed = RunBlock(program_.block(b)) || changed;
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  bool RunBlock(Block& block) {
    ops_ = block.TakeOps();
    groups_.clear();
    open_.clear();
    for (size_t i = 0; i < ops_.size(); ++i) Visit(i);
    bool changed = false;
    for (const Group& group : groups_) changed = Fuse(group) || changed;
    std::erase(ops_, nullptr);
    block.SetOps(std::move(ops_));
    return changed;
  }

  void Visit(size_t i) {
    Op& op = *ops_[i];
    if (!op.SubBlocks().empty()) return open_.clear();  // its blocks may read anything
    const bool step = MayBeStep(op);
    if (!step || !Join(i)) {
      for (const Var* var : op.inputs()) Close(*var);
      if (step) Start(i);
    }
  }

  bool MayBeStep(const Op& op) const {
    if (!ops::MayBeFusedStep(op) || op.outputs()[0]->kind != VarKind::kTemp) return false;
    return std::all_of(op.inputs().begin(), op.inputs().end(), [this](const Var* var) { return Stable(*var); });
  }

  // The same value wherever the op stands.
  bool Stable(const Var& var) const { return var.kind == VarKind::kTemp || uses_.num_writers(var) == 0; }

  // No more steps for the group that has `var`.
  void Close(const Var& var) {
    const auto at = open_.find(&var);
    if (at == open_.end()) return;
    for (const auto& [value, unread] : groups_[at->second].unread) {
      if (value != &var) open_.erase(value);
    }
    open_.erase(at);
  }

  void Start(size_t i) {
    Group group;
    group.shape = ops_[i]->outputs()[0];
    if (!Add(i, group)) return;
    groups_.push_back(std::move(group));
    open_[ops_[i]->outputs()[0]] = groups_.size() - 1;
  }

  // The op becomes a step of the groups whose values it reads, which become one; false where that cannot be.
  bool Join(size_t i) {
    const Op& op = *ops_[i];
    std::vector<size_t> from;
    for (const Var* var : op.inputs()) {
      const auto at = open_.find(var);
      if (at != open_.end() && std::find(from.begin(), from.end(), at->second) == from.end()) from.push_back(at->second);
    }
    std::erase_if(from, [&](size_t g) { return !shapes_.Same(*groups_[g].shape, *op.outputs()[0]); });
    while (!from.empty()) {
      Group joined = groups_[from[0]];
      for (size_t k = 1; k < from.size(); ++k) Merge(groups_[from[k]], joined);
      if (Add(i, joined)) {
        Replace(from, std::move(joined));
        for (const Var* var : op.inputs()) CloseOther(*var, from[0]);
        return true;
      }
      from.pop_back();
    }
    return false;
  }

  void CloseOther(const Var& var, size_t group) {
    const auto at = open_.find(&var);
    if (at != open_.end() && at->second != group) Close(var);
  }

  static void Merge(const Group& from, Group& to) {
    to.steps.insert(to.steps.end(), from.steps.begin(), from.steps.end());
    std::sort(to.steps.begin(), to.steps.end());
    to.size += from.size;
    for (const Operand& operand : from.operands) AddOperand(operand, to);
    to.unread.insert(from.unread.begin(), from.unread.end());
  }

  static void AddOperand(const Operand& operand, Group& group) {
    if (std::find(group.operands.begin(), group.operands.end(), operand) == group.operands.end()) group.operands.push_back(operand);
  }

  // The group with the op as its next step; false when it is too large then.
  bool Add(size_t i, Group& group) const {
    const Op& op = *ops_[i];
    const Var& out = *op.outputs()[0];
    for (int k = 0; k < static_cast<int>(op.inputs().size()); ++k) {
      Var* var = op.inputs()[k];
      const auto own = group.unread.find(var);
      if (own != group.unread.end()) {
        --own->second;
      } else {
        const int64_t rank = out.type.rank(), axis = ops::StepAxis(op, k, rank);
        AddOperand({var, axis == rank - var->type.rank() ? -1 : axis}, group);
      }
    }
    group.steps.push_back(i);
    group.size += ops::StepsOf(op);
    group.unread[&out] = static_cast<int>(uses_.uses(out).size()) + (uses_.fetched(out) ? 1 : 0);
    const auto results = std::count_if(group.unread.begin(), group.unread.end(), [](const auto& value) { return value.second > 0; });
    return group.operands.size() <= kMaxFusedOperands && group.size <= kMaxFusedSteps && results <= kMaxFusedResults;
  }

  // `joined` in the place of the first of `from`; the others are no more.
  void Replace(const std::vector<size_t>& from, Group joined) {
    for (const auto& [value, unread] : joined.unread) open_[value] = from[0];
    for (size_t k = 1; k < from.size(); ++k) groups_[from[k]] = {};
    groups_[from[0]] = std::move(joined);
  }

  bool Fuse(const Group& group) {
    if (group.steps.size() < 2) return false;
    Block& block = ops_[group.steps[0]]->block();
    std::unique_ptr<Op> op = block.NewOp(fused_);
    std::vector<Var*> operands, results;
    std::vector<int32_t> axes, numbers;
    std::vector<std::string> steps, types;
    Program body;  // only for the text of its ops
    absl::flat_hash_map<std::pair<const Var*, int64_t>, Var*> outside;
    absl::flat_hash_map<const Var*, Var*> inside;
    for (const Operand& x : group.operands) {
      outside[{x.var, x.axis}] = NewValue(body, *x.var);
      operands.push_back(x.var);
      axes.push_back(static_cast<int32_t>(x.axis));
    }
    for (const size_t i : group.steps) {
      Var* out = ops_[i]->outputs()[0];
      steps.push_back(StepText(*ops_[i], body, outside, inside));
      if (group.unread.at(out) <= 0) continue;
      results.push_back(out);
      numbers.push_back(static_cast<int32_t>(operands.size() + steps.size() - 1));
      types.emplace_back(Name(out->type.dtype));
    }
    if (results.empty()) return false;  // nobody wants it: dead code is another pass's
    op->SetInputs(0, operands);
    op->SetOutputs(0, results);
    op->SetAttr("steps", std::move(steps));
    op->SetAttr("results", std::move(numbers));
    op->SetAttr("axes", std::move(axes));
    op->SetAttr("types", std::move(types));
    if (excess_) op->SetAttr("excess", true);
    op->line = ops_[group.steps[0]]->line;
    op->lowered_from = ops_[group.steps[0]]->lowered_from;
    for (const size_t i : group.steps) graveyard_.push_back(std::move(ops_[i]));
    ops_[group.steps.back()] = std::move(op);
    return true;
  }

  static Var* NewValue(Program& body, const Var& like) {
    return body.main().AddVar(absl::StrCat("v", body.main().vars().size()), VarKind::kTemp, TensorType::Unranked(like.type.dtype));
  }

  static std::string StepText(const Op& op, Program& body, const absl::flat_hash_map<std::pair<const Var*, int64_t>, Var*>& outside,
                              absl::flat_hash_map<const Var*, Var*>& inside) {
    std::unique_ptr<Op> step = body.main().NewOp(&op.def());
    const int64_t rank = op.outputs()[0]->type.rank();
    int flat = 0;
    for (int slot = 0; slot < static_cast<int>(op.def().inputs.size()); ++slot) {
      std::vector<Var*> vars;
      for (const Var* var : op.inputs(slot)) {
        const int64_t axis = ops::StepAxis(op, flat++, rank);
        const auto own = inside.find(var);
        vars.push_back(own != inside.end() ? own->second : outside.at({var, axis == rank - var->type.rank() ? -1 : axis}));
      }
      step->SetInputs(slot, vars);
    }
    Var* value = NewValue(body, *op.outputs()[0]);
    inside[op.outputs()[0]] = value;
    for (int slot = 0; slot < static_cast<int>(op.def().outputs.size()); ++slot) {
      if (!op.outputs(slot).empty()) step->SetOutputs(slot, {&value, 1});
    }
    for (const Attr& attr : op.attrs()) {
      const AttrDef* def = op.def().FindAttr(attr.name);
      if (def != nullptr && !def->extra) step->SetAttr(attr.name, attr.value);
    }
    return PrintOp(*step);
  }

  Program& program_;
  const bool excess_;  // results keep what float32 computed
  UseDef uses_;
  ShapeSymbols shapes_;
  const OpDef* fused_;
  std::vector<std::unique_ptr<Op>> ops_;  // of the block at hand
  std::vector<Group> groups_;
  absl::flat_hash_map<const Var*, size_t> open_;  // values of groups that may still grow
  std::vector<std::unique_ptr<Op>> graveyard_;    // uses_ still points at them
};

}  // namespace

PassInfo FuseElementwisePass() {
  PassInfo info;
  info.name = "fuse-elementwise";
  info.summary = "makes one op of element-wise ops that pass values to each other";
  info.options = {{"excess", "true: results of low types keep what float32 computed; false (default): each is rounded"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const bool excess, BoolOption(options, "excess", false));
    return MakePass([excess](PassContext&, Program& program) -> absl::StatusOr<bool> { return ElementwiseFuser(program, excess).Run(); });
  };
  return info;
}

}  // namespace ampc
