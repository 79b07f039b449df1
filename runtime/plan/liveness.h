// Liveness: what a span of ops needs from outside, what others read of its results, and until when.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "graph/program.h"
#include "runtime/plan/state_table.h"

namespace ampc {

class Liveness {
 public:
  // Keeps a reference to `program`. The variables of `states` (may be null) are read after the run, and are no constants.
  explicit Liveness(const Program& program, const StateTable* states = nullptr);

  // The variable has a stored value that no op overwrites.
  bool IsConstant(const Var& var) const { return has_value_[var.id()] && !written_[var.id()]; }
  // Variables, except constants, that ops [begin, end) read before they write them. Each once, in the order of reading.
  std::vector<const Var*> Reads(const Block& block, int begin, int end) const;
  // Variables that ops [begin, end) write and that something behind them may read. A carry or state may always be read again: by
  // the next iteration.
  std::vector<const Var*> Writes(const Block& block, int begin, int end) const;
  // Temps that nothing reads behind op `position`, which reads them itself or in its blocks.
  absl::Span<const Var* const> LastReadAt(const Block& block, int position) const { return dying_[block.index()][position]; }

 private:
  void Visit(const Block& block);

  const Program& program_;
  std::vector<bool> has_value_;                              // by Var::id
  std::vector<bool> written_;                                // by Var::id
  std::vector<int> last_read_;                               // by Var::id: position in the variable's own block; -1 never
  std::vector<int> position_;                                // by block: the op that Visit has reached
  std::vector<std::vector<std::vector<const Var*>>> dying_;  // by block, position
};

}  // namespace ampc
