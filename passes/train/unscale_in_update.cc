#include "passes/train/unscale_in_update.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// The readers of a gradient.
struct Path {
  Var* scaled;  // what the update is to read
  Op* dead;     // the cast that nothing reads then, or null
  Op* update;
};

struct Plan {
  Op* check;
  Op* moves;  // update_loss_scaling, or null
  std::vector<Path> paths;
};

absl::Span<Var* const> In(const Op& op, const char* slot) { return op.inputs(op.def().InputSlot(slot)); }
absl::Span<Var* const> Out(const Op& op, const char* slot) { return op.outputs(op.def().OutputSlot(slot)); }

class Finder {
 public:
  Finder(const Program& program, const Block& block) : uses_(program), block_(block) {
    for (size_t i = 0; i < block.ops().size(); ++i) place_[block.ops()[i].get()] = i;
  }

  std::vector<Plan> Run() const {
    std::vector<Plan> plans;
    for (const std::unique_ptr<Op>& op : block_.ops()) {
      if (op->type() != "check_finite_and_unscale") continue;
      Plan plan{op.get(), nullptr, {}};
      if (Follow(plan)) plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  bool Follow(Plan& plan) const {
    const auto operands = In(*plan.check, "X");
    const auto results = Out(*plan.check, "Out");
    if (results.empty() || operands.size() != results.size()) return false;
    for (size_t i = 0; i < results.size(); ++i) {
      const Var* value = results[i];
      if (IsLowPrecision(operands[i]->type.dtype) || operands[i]->IsWritable()) return false;  // a result has its operand's type
      if (!PastMove(*plan.check, plan, value)) return false;
      const Op* update = OnlyReader(*value);
      if (update == nullptr || !TakesScale(*update, *value, *plan.check->output("FoundInfinite"))) return false;
      plan.paths.push_back(From(*operands[i], *const_cast<Op*>(update)));
    }
    return MayMove(plan);
  }

  // From a result of the check to that of the update_loss_scaling that takes all of them.
  bool PastMove(const Op& check, Plan& plan, const Var*& value) const {
    Op* op = const_cast<Op*>(OnlyReader(*value));
    if (op == nullptr || op->type() != "update_loss_scaling") return op != nullptr && plan.moves == nullptr;
    const auto operands = In(*op, "X");
    if (!plan.paths.empty() && plan.moves != op) return false;
    if (operands.size() != Out(check, "Out").size() || op->input("FoundInfinite") != check.output("FoundInfinite")) return false;
    plan.moves = op;
    value = Out(*op, "Out")[static_cast<size_t>(std::find(operands.begin(), operands.end(), value) - operands.begin())];
    return true;
  }

  const Op* OnlyReader(const Var& var) const {
    if (var.IsWritable() || !uses_.single_use(var)) return nullptr;
    const Op* op = uses_.uses(var)[0].op;
    return &op->block() == &block_ ? op : nullptr;
  }

  bool TakesScale(const Op& update, const Var& gradient, const Var& found) const {
    const int slot = update.def().InputSlot("GradScale");
    if (slot < 0 || !update.inputs(slot).empty() || update.input("Grad") != &gradient || update.input("SkipUpdate") == nullptr)
      return false;
    return Follows(*update.input("SkipUpdate"), found);
  }

  // `flag` is true wherever `found` is.
  bool Follows(const Var& flag, const Var& found) const {
    if (&flag == &found) return true;
    const Op* op = flag.IsWritable() ? nullptr : uses_.producer(flag);
    if (op == nullptr) return false;
    const std::string& type = op->type();
    if (type != "logical_or" && type != "memcpy" && type != "concat" && type != "reduce_any") return false;
    return std::any_of(op->inputs().begin(), op->inputs().end(), [&](const Var* var) { return Follows(*var, found); });
  }

  // A gradient of the weight's own low type is read as it is: the cast before the check is none of its readers' business.
  Path From(Var& operand, Op& update) const {
    Op* cast = uses_.producer(operand);
    if (cast == nullptr || cast->type() != "cast" || &cast->block() != &block_) return {&operand, nullptr, &update};
    Var* from = cast->input("X");
    if (from->IsWritable() || from->type.dtype != update.input("Param")->type.dtype || !IsLowPrecision(from->type.dtype)) {
      return {&operand, nullptr, &update};
    }
    return {from, uses_.single_use(operand) ? cast : nullptr, &update};
  }

  size_t LastUpdate(const Plan& plan) const {
    size_t last = 0;
    for (const Path& path : plan.paths) last = std::max(last, place_.at(path.update));
    return last;
  }

  // The scale stays as it is up to the last update, and nobody in between wants to know where it went.
  bool MayMove(const Plan& plan) const {
    absl::flat_hash_set<const Var*> states = {plan.check->input("Scale")};
    if (plan.moves != nullptr) {
      if (plan.moves->input("PrevLossScaling") != plan.check->input("Scale")) return false;
      states.insert(plan.moves->outputs().begin(), plan.moves->outputs().end());
    }
    const size_t last = LastUpdate(plan);
    for (size_t i = place_.at(plan.check) + 1; i <= last; ++i) {
      const Op& op = *block_.ops()[i];
      if (&op == plan.moves) continue;
      const bool behind = plan.moves != nullptr && i > place_.at(plan.moves);
      for (const Var* var : op.outputs()) {
        if (states.contains(var)) return false;
      }
      for (const Var* var : op.inputs()) {
        const bool gradient =
            std::any_of(plan.paths.begin(), plan.paths.end(), [&](const Path& p) { return p.update == &op; }) && op.input("Grad") == var;
        if (behind && states.contains(var) && !gradient) return false;
      }
      if (!op.SubBlocks().empty()) return false;
    }
    return true;
  }

  const UseDef uses_;
  const Block& block_;
  absl::flat_hash_map<const Op*, size_t> place_;
};

// Puts `op` right behind the last of the updates.
void MoveBehind(const Op* op, const std::vector<Path>& paths, std::vector<std::unique_ptr<Op>>& ops) {
  absl::flat_hash_set<const Op*> updates;
  for (const Path& path : paths) updates.insert(path.update);
  const auto from = std::find_if(ops.begin(), ops.end(), [&](const auto& o) { return o.get() == op; });
  auto to = from;
  for (auto at = from; at != ops.end(); ++at) {
    if (updates.contains(at->get())) to = at;
  }
  if (to != from) std::rotate(from, from + 1, to + 1);
}

void Rewrite(const Plan& plan, std::vector<std::unique_ptr<Op>>& ops) {
  const auto clear = [](Op& op) {
    op.SetInputs(op.def().InputSlot("X"), {});
    op.SetOutputs(op.def().OutputSlot("Out"), {});
  };
  Var* scale = plan.check->input("Scale");
  std::vector<Var*> gradients;
  absl::flat_hash_set<const Op*> dead;
  for (const Path& path : plan.paths) {
    gradients.push_back(path.scaled);
    if (path.dead != nullptr) dead.insert(path.dead);
    path.update->SetInputs(path.update->def().InputSlot("Grad"), {&gradients.back(), 1});
    path.update->SetInputs(path.update->def().InputSlot("GradScale"), {&scale, 1});
  }
  clear(*plan.check);
  plan.check->SetInputs(plan.check->def().InputSlot("X"), gradients);
  if (plan.moves != nullptr) {
    clear(*plan.moves);
    MoveBehind(plan.moves, plan.paths, ops);
  }
  std::erase_if(ops, [&](const std::unique_ptr<Op>& op) { return dead.contains(op.get()); });
}

absl::StatusOr<bool> UnscaleInUpdate(PassContext&, Program& program) {
  bool changed = false;
  for (int b = 0; b < program.num_blocks(); ++b) {
    Block& block = program.block(b);
    const std::vector<Plan> plans = Finder(program, block).Run();
    if (plans.empty()) continue;
    std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
    for (const Plan& plan : plans) Rewrite(plan, ops);
    block.SetOps(std::move(ops));
    changed = true;
  }
  if (changed) RemoveUnusedVars(program);
  return changed;
}

}  // namespace

PassInfo UnscaleInUpdatePass() {
  return SimplePass("unscale-in-update", "updates read scaled gradients and divide them by the scale", &UnscaleInUpdate);
}

}  // namespace ampc
