// Paddle 2.5 and later: every op of every block gets fp32, low, or is left alone, in one walk that also tracks the declared
// types as they change.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "passes/amp/decide/cast_roots.h"
#include "passes/amp/decide/decide.h"
#include "passes/amp/decide/paddle_names.h"

namespace ampc {
namespace {

enum class Set : uint8_t { kNone, kLow, kFp32 };

bool IsNarrowFloat(DType t) { return t == DType::kF32 || IsLowPrecision(t); }

class UnifiedDecider {
 public:
  UnifiedDecider(const DecideOptions& options, const PaddlePolicy& policy, const Program& program)
      : options_(options),
        policy_(policy),
        program_(program),
        roots_(program),
        names_(program, IsLoaded(program)),
        out_(NewDecision(options, policy, program)) {
    out_->casts_captures = true;
    MakeLists();
    set_.assign(program.num_op_ids(), Set::kNone);
    type_.assign(names_.num_cells(), DType::kInvalid);
    dense_.assign(names_.num_cells(), true);
    created_.assign(names_.num_cells(), false);
    ForEachVar(program, [this](const Var& var) {
      type_[names_.cell(var)] = IsRetyped(var) ? var.was : var.type.dtype;
      dense_[names_.cell(var)] = var.type.kind != TypeKind::kOpaque;
    });
  }

  std::unique_ptr<AmpDecision> Run() {
    if (options_.level == "O2") RetypeParams();
    ForEachOp(program_, [this](const Op& op) { out_->ops[op.id()] = Decide(op); });
    RetypeCarries();
    out_->keep_var = KeepFetches(program_, !kernels_.contains("fetch") || options_.level != "O2");
    return std::move(out_);
  }

 private:
  void MakeLists() {
    white_ = Words(options_.low == DType::kF16 ? policy_.white_f16 : policy_.white_bf16);
    black_ = Words(policy_.black);
    gray_ = Words(policy_.gray);
    kernels_ = Words(options_.low == DType::kF16 ? policy_.kernels_f16 : policy_.kernels_bf16);
    for (const std::string& type : options_.white_list) {
      if (black_.erase(type) == 0) gray_.erase(type);
      white_.insert(type);
    }
    for (const std::string& type : options_.black_list) {
      if (white_.erase(type) == 0) gray_.erase(type);
      black_.insert(type);
      custom_black_.insert(type);
    }
    if (options_.level == "O2") {
      for (const std::string& type : Words(policy_.black_o1_only)) black_.erase(type);
    }
    black_vars_.insert(options_.black_vars.begin(), options_.black_vars.end());
  }

  bool Black(const Op& op) const { return options_.level == "OD" ? !white_.contains(op.type()) : black_.contains(op.type()); }
  bool Unsupported(const Op& op) const { return custom_black_.contains(op.type()) || !kernels_.contains(op.type()); }

  template <typename F>
  static bool AnyName(const Op& op, const CastRoots& roots, F&& f) {
    for (const Var* var : op.inputs()) {
      if (f(roots.Root(*var).exported())) return true;
    }
    for (const Var* var : op.outputs()) {
      if (f(var->exported())) return true;
    }
    return false;
  }

  // Kept fp32 whatever the lists say; the rule id, "" when not.
  absl::string_view KeptFp32(const Op& op) const {
    if (Unsupported(op)) return "unsupported";
    if (AnyName(op, roots_, [](const std::string& name) { return absl::StrContains(name, "learning_rate"); })) return "learning-rate";
    if (options_.guard && op.marks.guard == 0) return "guard";
    return "";
  }

  const Var& In(const Op& op, int flat) const { return roots_.Root(*op.inputs()[flat]); }
  DType TypeOf(const Var& var) const { return type_[names_.cell(var)]; }
  bool InputMayBeLow(const Op& op, int flat) const {
    return SlotMayBeLow(policy_.inputs, op.type(), op.def().inputs[op.InputSlotOf(flat)].name);
  }

  // Parameters are declared low unless an op that stays fp32 or a slot that stays fp32 reads them.
  void RetypeParams() {
    NameSet keep;
    ForEachOp(program_, [&](const Op& op) {
      if (IsInserted(op) || Black(op)) return;
      const bool all = !KeptFp32(op).empty();
      for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
        if (all || !InputMayBeLow(op, i)) keep.insert(In(op, i).exported());
      }
    });
    out_->low_param.assign(program_.num_var_ids(), false);
    ForEachVar(program_, [&](const Var& var) {
      if (var.kind != VarKind::kParam || TypeOf(var) != DType::kF32 || keep.contains(var.exported())) return;
      out_->low_param[var.id()] = true;
      type_[names_.cell(var)] = options_.low;
    });
  }

  OpDecision Decide(const Op& op) {
    if (IsInserted(op)) return {false, true, "inserted", "a cast of AMP's own"};
    if (const absl::string_view why = NotProcessed(op); !why.empty()) {
      for (const Var* var : op.outputs()) created_[names_.cell(*var)] = created_[names_.cell(*var)] || why == "creation";
      return {false, true, why, "left as it is"};
    }
    absl::string_view kept = KeptFp32(op);
    if (kept.empty() && AnyName(op, roots_, [this](const std::string& name) { return black_vars_.contains(name); })) kept = "black-vars";
    if (kept.empty() && Black(op)) kept = "black";
    if (!kept.empty()) return Settle(op, Set::kFp32, kept);
    if (white_.contains(op.type())) return Settle(op, Set::kLow, "white");
    if (IsCast(op)) {
      type_[names_.cell(*op.outputs()[0])] = op.GetDType("out_dtype");
      return {false, true, "cast", "the program asks for this type"};
    }
    if (options_.promote) return Settle(op, ReadsFp32(op) ? Set::kFp32 : Set::kLow, "promote");
    if (options_.level == "O2") return Settle(op, Set::kLow, "O2");
    if (gray_.contains(op.type())) return Settle(op, GrayVote(op), "gray");
    return Settle(op, Set::kFp32, "unlisted");
  }

  // Ops that the algorithm does not look at.
  absl::string_view NotProcessed(const Op& op) const {
    bool any = op.inputs().empty();
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const Var& var = In(op, i);
      any = any || (dense_[names_.cell(var)] && IsNarrowFloat(TypeOf(var)));
    }
    if (!any) return "not-float";
    if (op.type() == "set_value") return "set-value";
    if (op.type() == "create_py_reader" || op.type() == "read") return "reader";
    if (op.attr("in_dtype") != nullptr) return "";
    for (const char* attr : {"out_dtype", "dtype"}) {
      const DType t = PaddleDType(op, attr);
      if (IsNarrowFloat(t) || t == DType::kF64) return "creation";
    }
    return "";
  }

  OpDecision Settle(const Op& op, Set set, absl::string_view rule) {
    set_[op.id()] = set;
    for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
      const Var& var = *op.outputs()[i];
      DType& type = type_[names_.cell(var)];
      if (!IsNarrowFloat(type) || !SlotMayBeLow(policy_.outputs, op.type(), op.def().outputs[op.OutputSlotOf(i)].name)) continue;
      type = set == Set::kLow ? options_.low : DType::kF32;
    }
    return {set == Set::kLow, false, rule, ""};
  }

  bool ReadsFp32(const Op& op) const {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      if (InputMayBeLow(op, i) && TypeOf(In(op, i)) == DType::kF32) return true;
    }
    return false;
  }

  // The last operand with a coloured producer wins; without any, low.
  Set GrayVote(const Op& op) const {
    Set vote = Set::kLow;
    for (int i : FlatBySlotName(op, /*inputs=*/true)) {
      const Var& var = In(op, i);
      const Op* producer = names_.producer(var);
      bool several = false;
      if (producer == &op) producer = names_.WriterBefore(var, op, &several);
      if (producer == nullptr) continue;
      if (set_[producer->id()] == Set::kFp32 || Black(*producer)) {
        vote = Set::kFp32;
      } else if (set_[producer->id()] == Set::kLow || white_.contains(producer->type())) {
        vote = Set::kLow;
      }
    }
    return vote;
  }

  // A carry that its writers left low is declared low, but not where one of them says its type itself: the others are cast to that. What
  // a select_input reads has the type of that op: a cast in front of it would read the result of a branch that was not taken.
  void RetypeCarries() {
    out_->low_var.assign(program_.num_var_ids(), false);
    std::vector<DType> type = type_;
    ForEachOp(program_, [&](const Op& op) {
      if (op.type() != "select_input" || set_[op.id()] == Set::kNone) return;
      for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
        if (IsNarrowFloat(TypeOf(In(op, i)))) type[names_.cell(In(op, i))] = set_[op.id()] == Set::kLow ? options_.low : DType::kF32;
      }
    });
    ForEachVar(program_, [&](const Var& var) {
      const int cell = names_.cell(var);
      if (var.kind == VarKind::kCarry) out_->low_var[var.id()] = type[cell] == options_.low && !created_[cell];
    });
  }

  const DecideOptions& options_;
  const PaddlePolicy& policy_;
  const Program& program_;
  CastRoots roots_;
  PaddleNames names_;
  NameSet white_, black_, gray_, kernels_, custom_black_, black_vars_;
  std::vector<Set> set_;       // by Op::id
  std::vector<DType> type_;    // by cell: the declared type so far
  std::vector<bool> dense_;    // by cell
  std::vector<bool> created_;  // by cell: an op whose attribute is the type writes it
  std::unique_ptr<AmpDecision> out_;
};

}  // namespace

DecisionOr DecideUnified(const DecideOptions& options, const PaddlePolicy& policy, const Program& program) {
  return UnifiedDecider(options, policy, program).Run();
}

}  // namespace ampc
