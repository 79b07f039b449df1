#include "passes/amp/select/select_ops.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/formats/onnx/node_names.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/select/name_pattern.h"
#include "passes/amp/select/original_names.h"
#include "passes/amp/select/selector_hint.h"

namespace ampc {
namespace {

using Kind = SelectorTerm::Kind;

// A type or a name that stands for itself alone.
bool IsPlain(const SelectorTerm& term) {
  const bool names_ops = term.kind == Kind::kTypeOrName || term.kind == Kind::kType || term.kind == Kind::kName;
  return names_ops && term.text.find_first_of("*?[") == std::string::npos;
}

}  // namespace

class OpSelection::Impl {
 public:
  explicit Impl(const Program& program) : program_(program), names_(program) {}

  const Program& program() const { return program_; }

  std::vector<int> Select(const SelectorTerm& term) {
    if (term.kind == Kind::kUpstream || term.kind == Kind::kDownstream) return Flow(term);
    if (IsPlain(term)) return Find(term);
    std::vector<int> out;
    for (const Op* op : Ops()) {
      if (Matches(term, *op)) out.push_back(op->id());
    }
    return out;
  }

 private:
  using Table = absl::flat_hash_map<std::string, std::vector<int>>;

  // Those that AMP did not insert, by id.
  const std::vector<const Op*>& Ops() {
    if (!ops_.empty()) return ops_;
    ForEachOp(program_, [&](const Op& op) {
      if (!IsInserted(op)) ops_.push_back(&op);
    });
    std::sort(ops_.begin(), ops_.end(), [](const Op* a, const Op* b) { return a->id() < b->id(); });
    return ops_;
  }

  static void Enter(absl::string_view name, int id, Table& table) {
    std::vector<int>& ids = table[name];
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  }

  void FillTables() {
    for (const Op* op : Ops()) {
      Enter(op->type(), op->id(), by_type_);
      if (onnx::DefOf(op->def()) != nullptr) Enter(onnx::TypeName(op->def()), op->id(), by_type_);
      if (const absl::string_view node = onnx::NodeName(program_, *op); !node.empty()) Enter(node, op->id(), by_name_);
      for (const Var* var : op->outputs()) {
        const Var& original = names_.Of(*var);
        Enter(original.exported(), op->id(), by_name_);
        Enter(original.name(), op->id(), by_name_);
      }
    }
  }

  std::vector<int> Find(const SelectorTerm& term) {
    if (by_type_.empty()) FillTables();
    std::vector<int> out;
    const auto add = [&](const Table& table) {
      const auto found = table.find(term.text);
      if (found != table.end()) out.insert(out.end(), found->second.begin(), found->second.end());
    };
    if (term.kind != Kind::kName) add(by_type_);
    if (term.kind != Kind::kType) add(by_name_);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  static bool Named(const SelectorTerm& term, const Var& var) {
    return term.pattern->Matches(var.exported()) || term.pattern->Matches(var.name());
  }

  // `Conv` and `onnx.Conv.11` name the same op.
  static bool OfType(const SelectorTerm& term, const Op& op) {
    return term.pattern->Matches(op.type()) ||
           (onnx::DefOf(op.def()) != nullptr && term.pattern->Matches(std::string(onnx::TypeName(op.def()))));
  }

  bool AnyNamed(const SelectorTerm& term, absl::Span<Var* const> vars) const {
    for (const Var* var : vars) {
      if (Named(term, names_.Of(*var))) return true;
    }
    return false;
  }

  // By a value that it defines, or by the node that it was.
  bool IsNamed(const SelectorTerm& term, const Op& op) const {
    const absl::string_view node = onnx::NodeName(program_, op);
    return AnyNamed(term, op.outputs()) || (!node.empty() && term.pattern->Matches(std::string(node)));
  }

  bool InScope(const SelectorTerm& term, const Op& op) const {
    if (absl::StartsWith(op.GetString("op_namescope"), term.text)) return true;
    const std::vector<std::string> scopes = onnx::NodeScopes(program_, op);
    return std::any_of(scopes.begin(), scopes.end(), [&term](const std::string& scope) { return absl::StartsWith(scope, term.text); });
  }

  bool Matches(const SelectorTerm& term, const Op& op) const {
    switch (term.kind) {
      case Kind::kTypeOrName:
      case Kind::kRegex: return OfType(term, op) || IsNamed(term, op);
      case Kind::kType: return OfType(term, op);
      case Kind::kName: return IsNamed(term, op);
      case Kind::kReads: return AnyNamed(term, op.inputs());
      case Kind::kBlock: return term.pattern->Matches(op.block().name()) || term.pattern->Matches(absl::StrCat(op.block().index()));
      case Kind::kScope: return InScope(term, op);
      case Kind::kRegion: return op.marks.guard != 0 && term.pattern->Matches(absl::StrCat(op.marks.guard));
      case Kind::kUpstream:
      case Kind::kDownstream: break;
    }
    return false;
  }

  // The ops of the inner term, and from there against or along the data, inserted casts included on the way.
  std::vector<int> Flow(const SelectorTerm& term) {
    const bool up = term.kind == Kind::kUpstream;
    const SelectorTerm& of = term.of[0];
    std::vector<bool> seen(program_.num_op_ids(), false);
    for (const int id : Select(of)) seen[id] = true;
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
    std::vector<int> out;
    for (const Op* op : Ops()) {
      if (seen[op->id()]) out.push_back(op->id());
    }
    return out;
  }

  // touching_ by original Var::id: the ops that write the value, for going up, or that read it.
  void MakeTables(bool up) {
    touching_.assign(program_.num_var_ids(), {});
    ForEachOp(program_, [&](const Op& op) {
      for (const Var* var : up ? op.outputs() : Carriers(op, op.inputs())) touching_[names_.Of(*var).id()].push_back(&op);
    });
  }

  // The operands that an op's results depend on. Bodies write the results of control flow and stand for it: only the
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
  std::vector<const Op*> ops_;
  Table by_type_, by_name_;
  std::vector<std::vector<const Op*>> touching_;
};

OpSelection::OpSelection(const Program& program) : impl_(std::make_unique<Impl>(program)) {}
OpSelection::~OpSelection() = default;

absl::StatusOr<std::vector<int>> OpSelection::Select(const Selector& selector) {
  std::vector<int> out;
  for (const SelectorTerm& term : selector.terms) {
    std::vector<int> some = impl_->Select(term);
    if (some.empty())
      return UsageError(absl::StrCat("selector '", selector.text, "' matches no op of the program", SelectorHint(term, impl_->program())));
    if (&term == selector.terms.data()) {
      out = std::move(some);
    } else {
      std::vector<int> both;
      std::set_intersection(out.begin(), out.end(), some.begin(), some.end(), std::back_inserter(both));
      out = std::move(both);
    }
  }
  if (out.empty()) return UsageError(absl::StrCat("selector '", selector.text, "' matches no op of the program, each of its terms does"));
  return out;
}

}  // namespace ampc
