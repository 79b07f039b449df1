// Which name every variable gets in a Paddle file.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/formats/paddle/origin.h"
#include "graph/program.h"

namespace ampc::paddle {

// A variable has its exported() name. Versions of one overwritten variable share it, unless one of them is read after the
// next was written, or they no longer have one element type: such a version gets a name of its own. So does a new variable
// whose name the file already uses for something that the program does not know.
class ExportNames {
 public:
  explicit ExportNames(const Program& program);

  const std::string& Of(const Var& var) const {
    const Var& named = IsImplicit(var) ? *implicit_[var.id()] : var;
    return renamed_[named.id()].empty() ? named.exported() : renamed_[named.id()];
  }
  // The result of an implicit cast (graph/implicit_cast.h), which the file does not have: Of is its source's name.
  bool IsImplicit(const Var& var) const { return var.id() < static_cast<int>(implicit_.size()) && implicit_[var.id()] != nullptr; }
  // The variable has not the name that it had in the original.
  bool Renamed(const Var& var) const { return !renamed_[var.id()].empty(); }

 private:
  void FindImplicit(const Program& program);
  void FindGroups(const Program& program);
  void SeparateTypes();
  void SeparateStale(const Program& program);
  void Walk(const Block& block);
  void Check(const Var& var);
  void Rename(const Var& var);
  void DodgeForeign(const Program& program);

  std::vector<const Var*> implicit_;              // by Var::id: the source; empty when there are none
  std::vector<std::string> renamed_;              // by Var::id; "" for exported()
  std::vector<int> group_;                        // by Var::id; -1 for a name of its own
  std::vector<std::vector<const Var*>> members_;  // by group
  std::vector<const Var*> current_;               // by group: the version that the name holds
  std::vector<bool> pinned_;                      // by Var::id: part of the signature
  absl::flat_hash_set<std::string> taken_;
};

}  // namespace ampc::paddle
