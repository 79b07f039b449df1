#include "passes/train/group_updates.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/op_registry.h"
#include "passes/append_op.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// Groups that may grow at one time: more kinds of updates side by side than a program has.
constexpr size_t kMostOpen = 16;

struct Group {
  std::vector<std::unique_ptr<Op>> ops;
};

// The op that stands for several of a type: their slots with lists. Null: for none.
const OpDef* GroupedOf(const Op& op) {
  static const auto* const types = new absl::flat_hash_map<std::string, const OpDef*>{
      {"sgd", Ops().Find("grouped_update")},  {"momentum", Ops().Find("grouped_update")},
      {"adam", Ops().Find("grouped_update")}, {"adamw", Ops().Find("grouped_update")},
      {"lamb", Ops().Find("grouped_update")}, {"squared_l2_norm", Ops().Find("grouped_squared_l2_norm")}};
  const auto at = types->find(op.type());
  return at == types->end() ? nullptr : at->second;
}

// Operands that all parameters of a group share.
bool IsShared(const std::string& slot) { return slot == "LearningRate" || slot == "SkipUpdate" || slot == "GradScale"; }

// Whether `grouped` can stand for the op: it has all its operands and results, and what an update writes is written over its operand.
bool Fits(const Op& op, const OpDef& grouped) {
  for (size_t s = 0; s < op.def().inputs.size(); ++s) {
    if (!op.inputs(static_cast<int>(s)).empty() && grouped.InputSlot(op.def().inputs[s].name) < 0) return false;
  }
  for (size_t s = 0; s < op.def().outputs.size(); ++s) {
    const std::string& name = op.def().outputs[s].name;
    if (grouped.OutputSlot(name) < 0) return false;
    if (grouped.pure) continue;
    const Var* result = op.output(static_cast<int>(s));
    const Var* operand = op.input(name.substr(0, name.size() - 3));  // without "Out"
    if (result != operand) return false;
    if (result != nullptr && !result->IsWritable()) return false;
  }
  return true;
}

bool Alike(const Op& a, const Op& b) {
  if (a.type() != b.type() || RoleOf(a) != RoleOf(b)) return false;
  for (const AttrDef& attr : a.def().attrs) {
    if (!attr.extra && *a.attr(attr.name) != *b.attr(attr.name)) return false;
  }
  for (size_t s = 0; s < a.def().inputs.size(); ++s) {
    const int slot = static_cast<int>(s);
    const Var* x = a.input(slot);
    const Var* y = b.input(slot);
    if ((x == nullptr) != (y == nullptr)) return false;
    if (x != nullptr && (IsShared(a.def().inputs[s].name) ? x != y : x->type.dtype != y->type.dtype)) return false;
  }
  return true;
}

class Grouper {
 public:
  explicit Grouper(Block& block) : block_(block) {}

  bool Run() {
    std::vector<std::unique_ptr<Op>> ops = block_.TakeOps();
    out_.reserve(ops.size());
    for (std::unique_ptr<Op>& op : ops) {
      if (!op->SubBlocks().empty()) CloseAll();  // its bodies may read and write anything
      CloseTouched(*op);
      if (const OpDef* grouped = GroupedOf(*op); grouped != nullptr && Fits(*op, *grouped)) {
        Join(std::move(op));
      } else {
        out_.push_back(std::move(op));
      }
    }
    CloseAll();
    block_.SetOps(std::move(out_));
    return changed_;
  }

 private:
  // Ends the groups whose ops may not move behind `op`.
  void CloseTouched(const Op& op) {
    for (const Var* var : op.inputs()) {
      if (const auto at = writer_.find(var); at != writer_.end()) Close(at->second);
    }
    for (const Var* var : op.outputs()) {
      if (const auto at = writer_.find(var); at != writer_.end()) Close(at->second);
      const auto readers = readers_.find(var);
      if (readers == readers_.end()) continue;
      const std::vector<int> open(readers->second.begin(), readers->second.end());
      for (const int id : open) Close(id);
    }
  }

  void Join(std::unique_ptr<Op> op) {
    auto at = std::find_if(open_.begin(), open_.end(), [&](int id) { return Alike(*groups_[id].ops[0], *op); });
    if (at == open_.end()) {
      if (open_.size() == kMostOpen) Close(open_[0]);
      open_.push_back(static_cast<int>(groups_.size()));
      groups_.emplace_back();
      at = open_.end() - 1;
    }
    for (const Var* var : op->inputs()) readers_[var].insert(*at);
    for (const Var* var : op->outputs()) writer_[var] = *at;
    groups_[*at].ops.push_back(std::move(op));
  }

  void CloseAll() {
    while (!open_.empty()) Close(open_[0]);
  }

  void Close(int id) {
    std::erase(open_, id);
    std::vector<std::unique_ptr<Op>> ops = std::move(groups_[id].ops);
    for (const std::unique_ptr<Op>& op : ops) {
      for (const Var* var : op->inputs()) readers_[var].erase(id);
      for (const Var* var : op->outputs()) writer_.erase(var);
    }
    if (ops.size() == 1) {
      out_.push_back(std::move(ops[0]));
    } else if (!ops.empty()) {
      out_.push_back(Merge(ops));
      changed_ = true;
    }
  }

  std::unique_ptr<Op> Merge(const std::vector<std::unique_ptr<Op>>& ops) {
    const Op& first = *ops[0];
    const OpDef& grouped = *GroupedOf(first);
    std::unique_ptr<Op> merged = block_.NewOp(&grouped);
    const auto all = [&ops](auto var_of) {
      std::vector<Var*> vars;
      for (const std::unique_ptr<Op>& op : ops) {
        if (Var* var = var_of(*op); var != nullptr) vars.push_back(var);
      }
      return vars;
    };
    for (size_t s = 0; s < grouped.inputs.size(); ++s) {
      const std::string& slot = grouped.inputs[s].name;
      std::vector<Var*> vars = all([&slot](const Op& op) { return op.input(slot); });
      if (IsShared(slot) && !vars.empty()) vars.resize(1);
      merged->SetInputs(static_cast<int>(s), vars);
    }
    for (size_t s = 0; s < grouped.outputs.size(); ++s) {
      merged->SetOutputs(static_cast<int>(s), all([&](const Op& op) { return op.output(grouped.outputs[s].name); }));
    }
    if (grouped.FindAttr("op") != nullptr) merged->SetAttr("op", first.type());
    for (const AttrDef& attr : grouped.attrs) {
      const AttrDef* own = first.def().FindAttr(attr.name);
      if (own != nullptr && !attr.extra && *first.attr(attr.name) != attr.value) merged->SetAttr(attr.name, *first.attr(attr.name));
    }
    if (RoleOf(first) != kRoleForward) merged->SetAttr("op_role", RoleOf(first));
    merged->marks = first.marks;
    merged->line = first.line;
    return merged;
  }

  Block& block_;
  std::vector<Group> groups_;
  std::vector<int> open_;                                              // into groups_, in the order of their first ops
  absl::flat_hash_map<const Var*, int> writer_;                        // the open group that writes a variable
  absl::flat_hash_map<const Var*, absl::flat_hash_set<int>> readers_;  // those that read it
  std::vector<std::unique_ptr<Op>> out_;
  bool changed_ = false;
};

absl::StatusOr<bool> GroupUpdates(PassContext&, Program& program) {
  bool changed = false;
  for (int b = 0; b < program.num_blocks(); ++b) changed |= Grouper(program.block(b)).Run();
  return changed;
}

}  // namespace

PassInfo GroupUpdatesPass() {
  return SimplePass("group-updates", "updates and norms that differ in their tensor only become one op", &GroupUpdates);
}

}  // namespace ampc
