// The way of gradients: from the ends back to the wanted variables, past nothing that stops them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/program.h"

namespace ampc {

class GradientFlow {
 public:
  // `wanted`: names of float params, states or feeds of the main block; empty: its trainable params. `no_grad`: values that are not passed.
  // Errors: an unknown name, a wanted value that an op computes or that is no float.
  static absl::StatusOr<GradientFlow> Find(const Program& program, absl::Span<const std::string> wanted,
                                           absl::Span<const std::string> no_grad);

  const std::vector<Var*>& sources() const { return sources_; }
  // A gradient is wanted for `var` or for something that it is computed from. False for variables that are newer than the flow.
  bool Passes(const Var& var) const { return var.id() < static_cast<int>(passes_.size()) && passes_[var.id()]; }
  // The ops between the sources and `ends`, the last one first.
  std::vector<Op*> OpsToward(absl::Span<const Var* const> ends) const;
  // An op behind `op` overwrites what `var` held when `op` ran.
  bool IsOverwrittenAfter(const Op& op, const Var& var) const;

 private:
  explicit GradientFlow(const Program& program);
  absl::Status FindSources(absl::Span<const std::string> wanted);

  const Block* block_;
  std::vector<Var*> sources_;
  std::vector<bool> passes_, stops_;  // by Var::id
  std::vector<int> position_;         // by Op::id
  std::vector<int> last_write_;       // by Var::id: position of the last op that overwrites it, -1 for none
};

}  // namespace ampc
