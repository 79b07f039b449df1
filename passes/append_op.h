// AppendOp: one more op at the end of a block, its result types inferred.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc {

using SlotVars = std::vector<std::pair<absl::string_view, std::vector<Var*>>>;

// Paddle's op_role: what part of a training step an op belongs to.
enum OpRole : int32_t {
  kRoleForward = 0,
  kRoleBackward = 1,
  kRoleOptimize = 2,
  kRoleLearningRate = 16,
  kRoleLoss = 256,  // beside one of the others
};

// Results that are temps get the inferred types; params, states and carries are overwritten and keep theirs. InternalError for a
// type or a slot that has no record; an error of inference as it is. Nothing is appended then.
absl::StatusOr<Op*> AppendOp(Block& block, absl::string_view type, const SlotVars& operands, const SlotVars& results,
                             std::vector<Attr> attrs, int32_t role);

// A temp named `base`, or base.1, ...; its type comes with the op that defines it.
Var* NewTemp(Block& block, absl::string_view base);
// The successor of `var` when an op rewrites it: a temp of the same type that a file of another system calls by the same name.
Var* NextVersion(Block& block, const Var& var);

// Declares a state in `main` and in `startup`, which fills it with `value`. The name is `name`, or name.1, ... where that is taken.
absl::StatusOr<Var*> AddState(Program& main, Program& startup, absl::string_view name, TensorType type, double value);

// op_role, absent: forward.
int32_t RoleOf(const Op& op);

}  // namespace ampc
