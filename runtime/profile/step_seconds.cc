#include "runtime/profile/step_seconds.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "passes/amp/decide/decision.h"

namespace ampc {
namespace {

using Names = absl::flat_hash_map<absl::string_view, const Op*>;

// The op that makes each value, by the value's name.
Names MakersOf(const Program& program) {
  Names makers;
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.outputs()) makers.emplace(var->name(), &op);
  });
  return makers;
}

class StepSeconds {
 public:
  StepSeconds(const Program& program, const Program& ran, absl::FunctionRef<double(const Op& op)> work)
      : program_(program),
        ran_(ran),
        work_(work),
        makers_(MakersOf(program)),
        ran_makers_(MakersOf(ran)),
        root_(ran.num_op_ids(), nullptr) {}

  std::vector<double> Share(const std::vector<double>& seconds) {
    FindRoots();
    std::vector<double> of_root(ran_.num_op_ids(), 0), out(program_.num_op_ids(), 0);
    ForEachOp(ran_, [&](const Op& op) {
      if (root_[op.id()] != nullptr) of_root[root_[op.id()]->id()] += seconds[op.id()];
    });
    std::vector<bool> taken(program_.num_op_ids(), false);
    ForEachOp(ran_, [&](const Op& op) {
      if (root_[op.id()] != &op) return;
      const std::vector<const Op*> ops = StandsFor(op, &taken);
      double work = 0;
      for (const Op* each : ops) work += work_(*each);
      for (const Op* each : ops) {
        const double part = work > 0 ? work_(*each) / work : 1.0 / static_cast<double>(ops.size());
        out[each->id()] += part * of_root[op.id()];
      }
    });
    return out;
  }

 private:
  bool IsKnown(const Op& ran) const {
    for (const Var* var : ran.outputs()) {
      if (makers_.contains(var->name())) return true;
    }
    return false;
  }

  // Of an op whose results are known, itself; of another, that of one which reads a result.
  void FindRoots() {
    absl::flat_hash_map<const Var*, const Op*> reader;  // the root of one
    std::vector<const Op*> ops;
    ForEachOp(ran_, [&](const Op& op) { ops.push_back(&op); });
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      const Op& op = **it;
      if (IsCastOfConversion(op, program_)) continue;
      const Op*& root = root_[op.id()];
      if (IsKnown(op)) root = &op;
      for (const Var* var : op.outputs()) {
        const auto read = reader.find(var);
        if (root == nullptr && read != reader.end()) root = read->second;
      }
      for (const Var* var : op.inputs()) reader[var] = root;
    }
  }

  // The ops of the program whose results lie between those of `ran` and the values that others make, and that no other stands for.
  std::vector<const Op*> StandsFor(const Op& ran, std::vector<bool>* taken) const {
    std::vector<const Op*> ops;
    const auto add = [&](absl::string_view value) {
      const auto maker = makers_.find(value);
      if (maker == makers_.end() || (*taken)[maker->second->id()]) return;
      (*taken)[maker->second->id()] = true;
      ops.push_back(maker->second);
    };
    for (const Var* var : ran.outputs()) add(var->name());
    for (size_t i = 0; i < ops.size(); ++i) {
      for (const Var* var : ops[i]->inputs()) {
        if (!ran_makers_.contains(var->name())) add(var->name());
      }
    }
    return ops;
  }

  const Program& program_;
  const Program& ran_;
  const absl::FunctionRef<double(const Op& op)> work_;
  const Names makers_, ran_makers_;
  std::vector<const Op*> root_;  // by Op::id of `ran_`; null for none
};

}  // namespace

bool IsCastOfConversion(const Op& ran, const Program& program) {
  if (ran.type() != "cast" && ran.type() != "amp_cast") return false;
  if (IsInserted(ran)) return true;
  const Var& result = *ran.outputs()[0];
  return ran.inputs()[0]->type.IsFloat() && result.type.IsFloat() && !program.NameTaken(result.name());
}

std::vector<double> OpSecondsOf(const Program& program, const Program& ran, const std::vector<double>& seconds,
                                absl::FunctionRef<double(const Op& op)> work) {
  return StepSeconds(program, ran, work).Share(seconds);
}

}  // namespace ampc
