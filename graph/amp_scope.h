// amp::Scope: ops added while it lives get a level of mixed precision of their own.
//
//   ampc::amp::Scope fp32(builder, "O0");   // whatever the program's level is
//
// Regions nest: the innermost one counts. Kept in the attribute op_namescope, as Paddle keeps its guard there; only ampc's own
// mode looks at it, not the modes that reproduce a Paddle release.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "graph/builder.h"

namespace ampc::amp {

class Scope {
 public:
  // `level` is O0, O1 or O2; the builder keeps the error otherwise. Each region ends before the one that it stands in.
  Scope(ProgramBuilder& builder, absl::string_view level);
  ~Scope();
  Scope(const Scope&) = delete;

 private:
  ProgramBuilder& builder_;
  size_t first_;  // ops of the main block that are not in it
  std::string level_;
};

}  // namespace ampc::amp
