// Which ops of a program a selector means.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/amp/select/selector.h"

namespace ampc {

// A snapshot: rewriting the program outdates it.
class OpSelection {
 public:
  explicit OpSelection(const Program& program);
  ~OpSelection();

  // Sorted ids (Op::id). Ops that AMP inserted belong to no selector, and names are those of the original program, so a converted program
  // gets the ops that its original gets. The regions are those of fp16-guard. A selector that means no op is a usage error that
  // says so, with the nearest names or with what there is. A type or name without wildcards costs what it finds, everything else
  // O(program).
  absl::StatusOr<std::vector<int>> Select(const Selector& selector);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ampc
