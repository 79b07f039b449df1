#include "passes/amp/select_ops.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decision.h"
#include "passes/amp/name_pattern.h"
#include "passes/amp/original_names.h"
#include "passes/amp/selector_hint.h"

namespace ampc {
namespace {

using Kind = SelectorTerm::Kind;

class OpSelector {
 public:
  explicit OpSelector(const Program& program) : program_(program), names_(program) {}

  std::vector<bool> Select(const SelectorTerm& term) {
    if (term.kind == Kind::kUpstream || term.kind == Kind::kDownstream) return Flow(term);
    std::vector<bool> out(program_.num_op_ids(), false);
    ForEachOp(program_, [&](const Op& op) { out[op.id()] = !IsInserted(op) && Matches(term, op); });
    return out;
  }

 private:
  static bool Named(const SelectorTerm& term, const Var& var) { return term.pattern->Matches(var.exported()) || term.pattern->Matches(var.name()); }

  // `Conv` and `onnx.Conv.11` name the same op.
  static bool OfType(const SelectorTerm& term, const Op& op) {
    return term.pattern->Matches(op.type()) || (onnx::DefOf(op.def()) != nullptr && term.pattern->Matches(std::string(onnx::TypeName(op.def()))));
  }

  bool AnyNamed(const SelectorTerm& term, absl::Span<Var* const> vars) const {
    for (const Var* var : vars) {
      if (Named(term, names_.Of(*var))) return true;
    }
    return false;
  }

  bool Matches(const SelectorTerm& term, const Op& op) const {
    switch (term.kind) {
      case Kind::kTypeOrName:
      case Kind::kRegex: return OfType(term, op) || AnyNamed(term, op.outputs());
      case Kind::kType: return OfType(term, op);
      case Kind::kName: return AnyNamed(term, op.outputs());
      case Kind::kReads: return AnyNamed(term, op.inputs());
      case Kind::kBlock: return term.pattern->Matches(op.block().name()) || term.pattern->Matches(absl::StrCat(op.block().index()));
      case Kind::kScope: return absl::StartsWith(op.GetString("op_namescope"), term.text);
      case Kind::kRegion: return op.marks.guard != 0 && term.pattern->Matches(absl::StrCat(op.marks.guard));
      case Kind::kUpstream:
      case Kind::kDownstream: break;
    }
    return false;
  }

  // The ops of the inner term, and from there against or along the data, inserted casts included on the way.
  std::vector<bool> Flow(const SelectorTerm& term) {
    const bool up = term.kind == Kind::kUpstream;
    const SelectorTerm& of = term.of[0];
    std::vector<bool> seen = Select(of);
    std::vector<const Op*> todo;
    MakeTables(up);
    ForEachOp(program_, [&](const Op& op) {
      if (seen[op.id()]) todo.push_back(&op);
    });
    const auto add = [&](const Var& var) {
      for (const Op* op : touching_[names_.Of(var).id()]) {
        if (seen[op->id()]) continue;
        seen[op->id()] = true;
        todo.push_back(op);
      }
    };
    const bool by_name = of.kind == Kind::kTypeOrName || of.kind == Kind::kName || of.kind == Kind::kRegex;
    ForEachVar(program_, [&](const Var& var) {
      if (by_name && !up && &names_.Of(var) == &var && Named(of, var)) add(var);
    });
    while (!todo.empty()) {
      const Op& op = *todo.back();
      todo.pop_back();
      for (const Var* var : up ? Carriers(op, op.inputs()) : op.outputs()) add(*var);
    }
    ForEachOp(program_, [&](const Op& op) {
      if (IsInserted(op)) seen[op.id()] = false;
    });
    return seen;
  }

  // touching_ by original Var::id: the ops that write the value, for going up, or that read it.
  void MakeTables(bool up) {
    touching_.assign(program_.num_var_ids(), {});
    ForEachOp(program_, [&](const Op& op) {
      for (const Var* var : up ? op.outputs() : Carriers(op, op.inputs())) touching_[names_.Of(*var).id()].push_back(&op);
    });
  }

  // The operands that an op's results depend on. What control flow writes, its bodies write: they stand for it, and only the
  // condition counts.
  static absl::Span<Var* const> Carriers(const Op& op, absl::Span<Var* const> operands) {
    if (op.SubBlocks().empty()) return operands;
    for (size_t slot = 0; slot < op.def().inputs.size(); ++slot) {
      const std::string& name = op.def().inputs[slot].name;
      if (name == "Condition" || name == "Cond" || name == "cond") return op.inputs(static_cast<int>(slot));
    }
    return operands;
  }

  const Program& program_;
  OriginalNames names_;
  std::vector<std::vector<const Op*>> touching_;
};

bool Any(const std::vector<bool>& set) {
  for (const bool in : set) {
    if (in) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<bool>> SelectOps(const Selector& selector, const Program& program) {
  OpSelector ops(program);
  std::vector<bool> out;
  for (const SelectorTerm& term : selector.terms) {
    std::vector<bool> some = ops.Select(term);
    if (!Any(some)) return UsageError(absl::StrCat("selector '", selector.text, "' matches no op of the program", SelectorHint(term, program)));
    if (out.empty()) {
      out = std::move(some);
    } else {
      for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] && some[i];
    }
  }
  if (!Any(out)) return UsageError(absl::StrCat("selector '", selector.text, "' matches no op of the program, each of its terms does"));
  return out;
}

}  // namespace ampc
