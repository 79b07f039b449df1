#include "passes/amp/training/verify_training.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/append_op.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

constexpr absl::string_view kCheck = "check_finite_and_unscale";
constexpr absl::string_view kUpdate = "update_loss_scaling";

bool IsParamUpdate(const Op& op) { return op.input("Param") != nullptr && op.input("Grad") != nullptr && op.output("ParamOut") != nullptr; }

// The ops that a loss multiplied by a scale may go through before it is unscaled.
bool KeepsScale(const Op& op) { return op.type() == "cast" || op.type() == "sum" || op.type() == "assign"; }

// Sets of small numbers, each stored once: a set is named by its place.
class Sets {
 public:
  Sets() { Intern({}); }
  int Single(int element) { return Intern({element}); }
  int Union(int a, int b) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    const auto [it, fresh] = unions_.try_emplace(std::minmax(a, b), 0);
    if (fresh) {
      std::vector<int> all;
      std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(), std::back_inserter(all));
      it->second = Intern(std::move(all));
    }
    return it->second;
  }
  // An element of `a` that `b` lacks, -1 for none.
  int Missing(int a, int b) const {
    for (int element : sets_[a]) {
      if (!std::binary_search(sets_[b].begin(), sets_[b].end(), element)) return element;
    }
    return -1;
  }

 private:
  int Intern(std::vector<int> set) {
    const auto [it, fresh] = ids_.try_emplace(std::move(set), static_cast<int>(sets_.size()));
    if (fresh) sets_.push_back(it->first);
    return it->second;
  }
  std::vector<std::vector<int>> sets_;
  std::map<std::vector<int>, int> ids_;
  std::map<std::pair<int, int>, int> unions_;
};

class TrainingVerifier {
 public:
  explicit TrainingVerifier(const Program& program)
      : program_(program), is_scale_(program.num_var_ids(), false), facts_(program.num_var_ids()) {
    for (const std::unique_ptr<Op>& op : program.main().ops()) {
      if (op->type() == kCheck && op->input("Scale") != nullptr) is_scale_[op->input("Scale")->id()] = any_ = true;
    }
  }

  absl::Status Run() {
    if (!any_) return absl::OkStatus();
    for (const std::unique_ptr<Op>& op : program_.main().ops()) {
      AMPC_RETURN_IF_ERROR(CheckScale(*op));
      AMPC_RETURN_IF_ERROR(op->type() == kCheck ? Check(*op) : IsParamUpdate(*op) ? CheckUpdate(*op) : Follow(*op));
    }
    return absl::OkStatus();
  }

 private:
  struct Facts {
    const Var* scale = nullptr;    // the value is multiplied by it
    const Op* unscaled = nullptr;  // the op that took the scale out
    int checks = 0;                // set of checks that its gradients went through
    int flags = 0;                 // a flag: set of checks whose result it has
  };
  Facts& Of(const Var& var) { return facts_[var.id()]; }

  // c4.
  absl::Status CheckScale(const Op& op) {
    const bool again = op.type() == kUpdate && op.GetBool("stop_update");
    for (const Var* var : op.inputs()) {
      if (!is_scale_[var->id()]) continue;
      const auto moved = moved_.find(var);
      if (moved != moved_.end() && !again) {
        return NoError(absl::StrCat(Describe(op), " reads the scale '", var->name(), "' after ", Describe(*moved->second),
                                    " moved it; a scale needs to stay as it is within a step"));
      }
    }
    for (const Var* var : op.outputs()) {
      if (is_scale_[var->id()] && !again) moved_[var] = &op;
    }
    return absl::OkStatus();
  }

  absl::Status Check(const Op& op) {
    const Var* scale = op.input("Scale");
    const int check = static_cast<int>(checks_.size());
    checks_.push_back(&op);
    const auto operands = op.inputs(op.def().InputSlot("X"));
    const auto results = op.outputs(op.def().OutputSlot("Out"));
    for (size_t i = 0; i < operands.size() && i < results.size(); ++i) {
      const Facts& from = Of(*operands[i]);
      if (from.unscaled != nullptr) {
        return NoError(absl::StrCat(Describe(op), " unscales '", operands[i]->name(), "', which ", Describe(*from.unscaled),
                                    " has unscaled already; it needs to be done once"));
      }
      if (from.scale != nullptr && from.scale != scale) {
        return NoError(absl::StrCat(Describe(op), " unscales '", operands[i]->name(), "' by '", scale->name(), "', needs '",
                                    from.scale->name(), "', which its loss was multiplied with"));
      }
      const int checks = sets_.Union(from.checks, sets_.Single(check));
      Of(*results[i]) = {nullptr, &op, checks, 0};
    }
    if (const Var* flag = op.output("FoundInfinite")) Of(*flag) = {nullptr, nullptr, 0, sets_.Single(check)};
    return absl::OkStatus();
  }

  absl::Status CheckUpdate(const Op& op) {
    const Var& gradient = *op.input("Grad");
    const Facts& facts = Of(gradient);
    if (facts.scale != nullptr) {
      return NoError(absl::StrCat(Describe(op), " updates '", op.input("Param")->name(), "' by '", gradient.name(),
                                  "', which is still multiplied by '", facts.scale->name(), "'; it needs to be unscaled before"));
    }
    const Var* skip = op.input("SkipUpdate");
    if (skip == nullptr && op.origin >= 0) return absl::OkStatus();  // the program was written that way
    const int missing = sets_.Missing(facts.checks, skip == nullptr ? 0 : Of(*skip).flags);
    if (missing >= 0) {
      return NoError(absl::StrCat(Describe(op), " updates '", op.input("Param")->name(), "' whatever ", Describe(*checks_[missing]),
                                  " found; its SkipUpdate needs that flag"));
    }
    return absl::OkStatus();
  }

  absl::Status Follow(const Op& op) {
    if (op.type() == kUpdate) {
      const auto operands = op.inputs(op.def().InputSlot("X"));
      const auto results = op.outputs(op.def().OutputSlot("Out"));
      for (size_t i = 0; i < operands.size() && i < results.size(); ++i) Of(*results[i]) = Of(*operands[i]);
      return absl::OkStatus();
    }
    const int32_t role = RoleOf(op);
    if (role == kRoleForward || (role & kRoleLoss) != 0) return absl::OkStatus();
    Facts joined;
    for (const Var* var : op.inputs()) {
      const Facts& from = Of(*var);
      if (is_scale_[var->id()] && (role & kRoleBackward) != 0) joined.scale = var;
      if (from.scale != nullptr) joined.scale = from.scale;
      if (from.unscaled != nullptr) joined.unscaled = from.unscaled;
      joined.checks = sets_.Union(joined.checks, from.checks);
      joined.flags = sets_.Union(joined.flags, from.flags);
      if (from.scale != nullptr && (role & kRoleOptimize) != 0 && !KeepsScale(op)) {
        return NoError(absl::StrCat(Describe(op), " reads '", var->name(), "' while it is still multiplied by '", from.scale->name(),
                                    "'; clipping and decay need unscaled gradients"));
      }
    }
    for (const Var* var : op.outputs()) {
      if (var->kind == VarKind::kTemp) Of(*var) = joined;
    }
    return absl::OkStatus();
  }

  const Program& program_;
  std::vector<bool> is_scale_;  // by Var::id
  bool any_ = false;
  std::vector<Facts> facts_;  // by Var::id
  std::vector<const Op*> checks_;
  std::map<const Var*, const Op*> moved_;
  Sets sets_;
};

}  // namespace

absl::Status VerifyTraining(const Program& program) { return TrainingVerifier(program).Run(); }

PassInfo VerifyTrainingPass() {
  return SimplePass("verify-training",
                    "checks that gradients are unscaled once, before clip and update, and that every update sees what was found",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> {
                      AMPC_RETURN_IF_ERROR(VerifyTraining(program));
                      return false;
                    });
}

}  // namespace ampc
