// IoChoice: which feeds and fetches the user wants low.
#pragma once

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/amp/decide/decide.h"

namespace ampc {

class IoChoice {
 public:
  // Usage errors: a name that is no feed or fetch of the program (with the nearest), one in both lists, one in low_io_names
  // whose type cannot be low.
  static absl::StatusOr<IoChoice> Make(const DecideOptions& options, const Program& program);

  enum class Request : uint8_t { kKeep, kMayBeLow, kLow };  // kLow: named, whatever reads or computes it
  Request For(const Var& var) const;

 private:
  bool low_io_ = false;
  NameSet keep_, low_;
};

}  // namespace ampc
