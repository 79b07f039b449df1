#include "tests/compat/compare.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "passes/amp/decision.h"

namespace ampc::testing {
namespace {

// A program as the comparison sees it.
class View {
 public:
  explicit View(const Program& program) : source_(program.num_var_ids()), program_(program) {
    ForEachVar(program, [this](const Var& var) { source_[var.id()] = var.exported(); });
    for (int b = 0; b < program.num_blocks(); ++b) {
      int index = 0;
      for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
        if (!IsCast(*op)) ops_.push_back(op.get());
        int flat = 0;
        for (const Var* var : op->outputs()) {
          const bool named = var->kind != VarKind::kTemp;
          if (IsCast(*op)) {
            casts_.insert({source_[op->inputs()[0]->id()], var->type.dtype});
            if (!named) source_[var->id()] = source_[op->inputs()[0]->id()];
          } else if (!named) {
            source_[var->id()] = absl::StrCat("block ", b, " op ", index, " ", op->type(), " result ", flat);
          }
          ++flat;
        }
        if (!IsCast(*op)) ++index;
      }
    }
  }

  const std::vector<const Op*>& ops() const { return ops_; }
  const std::set<std::pair<std::string, DType>>& casts() const { return casts_; }
  const std::string& source(const Var& var) const { return source_[var.id()]; }
  // By the name that Paddle knows; the last version of an overwritten one.
  const Var* Find(const std::string& name) const {
    const Var* found = program_.main().FindVar(name);
    for (const std::unique_ptr<Var>& var : program_.main().vars()) {
      if (var->exported() == name) found = var.get();
    }
    return found;
  }

 private:
  std::vector<std::string> source_;  // by Var::id: what the value is, casts looked through
  const Program& program_;
  std::vector<const Op*> ops_;
  std::set<std::pair<std::string, DType>> casts_;
};

std::string CompareOperands(const View& a, const View& b, const Op& x, const Op& y) {
  for (size_t s = 0; s < x.def().inputs.size(); ++s) {
    const std::string& slot = x.def().inputs[s].name;
    const absl::Span<Var* const> p = x.inputs(static_cast<int>(s));
    const int t = y.def().InputSlot(slot);
    const absl::Span<Var* const> q = t < 0 ? absl::Span<Var* const>() : y.inputs(t);
    if (p.size() != q.size()) return absl::StrCat(Describe(x), ": slot ", slot, " has ", p.size(), " operands, needs ", q.size());
    for (size_t i = 0; i < p.size(); ++i) {
      if (a.source(*p[i]) != b.source(*q[i])) {
        return absl::StrCat(Describe(x), ": slot ", slot, " reads ", a.source(*p[i]), ", needs ", b.source(*q[i]));
      }
      if (p[i]->type.dtype != q[i]->type.dtype) {
        return absl::StrCat(Describe(x), ": slot ", slot, " reads ", Name(p[i]->type.dtype), ", needs ", Name(q[i]->type.dtype));
      }
    }
  }
  return "";
}

std::string CompareResults(const Op& x, const Op& y) {
  if (x.outputs().size() != y.outputs().size()) return absl::StrCat(Describe(x), ": ", x.outputs().size(), " results, needs ", y.outputs().size());
  for (size_t i = 0; i < x.outputs().size(); ++i) {
    if (x.def().outputs[x.OutputSlotOf(static_cast<int>(i))].name == "ReserveSpace") continue;  // scratch of a library: any type
    const DType p = x.outputs()[i]->type.dtype;
    const DType q = y.outputs()[i]->type.dtype;
    if (p != q) return absl::StrCat(Describe(x), ": result ", i, " is ", Name(p), ", needs ", Name(q));
  }
  return "";
}

std::string CompareCasts(const View& a, const View& b) {
  for (const auto& cast : a.casts()) {
    if (!b.casts().contains(cast)) return absl::StrCat("cast of ", cast.first, " to ", Name(cast.second), " is not needed");
  }
  for (const auto& cast : b.casts()) {
    if (!a.casts().contains(cast)) return absl::StrCat("cast of ", cast.first, " to ", Name(cast.second), " is missing");
  }
  return "";
}

}  // namespace

std::string CompareRewrites(const Program& ours, const Program& theirs, const std::vector<std::string>& fetches) {
  const View a(ours);
  const View b(theirs);
  for (size_t i = 0; i < a.ops().size() && i < b.ops().size(); ++i) {
    const Op& x = *a.ops()[i];
    const Op& y = *b.ops()[i];
    if (x.type() != y.type()) return absl::StrCat(Describe(x), " stands where ", Describe(y), " is needed");
    if (std::string why = CompareOperands(a, b, x, y); !why.empty()) return why;
    if (std::string why = CompareResults(x, y); !why.empty()) return why;
  }
  if (a.ops().size() != b.ops().size()) return absl::StrCat(a.ops().size(), " ops, needs ", b.ops().size());
  if (std::string why = CompareCasts(a, b); !why.empty()) return why;
  std::string why;
  const auto compare = [&](const std::string& name) {
    const Var* p = a.Find(name);
    const Var* q = b.Find(name);
    if (!why.empty() || p == nullptr || q == nullptr) {
      if (why.empty() && p != q) why = absl::StrCat("'", name, "' is in one program only");
    } else if (p->type.dtype != q->type.dtype) {
      why = absl::StrCat(Name(p->kind), " '", name, "' is declared ", Name(p->type.dtype), ", needs ", Name(q->type.dtype));
    }
  };
  ForEachVar(ours, [&](const Var& var) {
    if (var.kind == VarKind::kFeed || var.kind == VarKind::kParam || var.kind == VarKind::kState) compare(var.exported());
  });
  if (ours.fetches.size() != theirs.fetches.size()) return absl::StrCat(ours.fetches.size(), " fetches, needs ", theirs.fetches.size());
  for (size_t i = 0; i < ours.fetches.size() && why.empty(); ++i) {
    const DType p = ours.fetches[i]->type.dtype;
    const DType q = theirs.fetches[i]->type.dtype;
    if (p != q) why = absl::StrCat("fetch '", ours.fetches[i]->name(), "' is ", Name(p), ", needs ", Name(q));
  }
  for (const std::string& fetch : fetches) {
    if (ours.fetches.empty()) compare(fetch);
  }
  return why;
}

}  // namespace ampc::testing
