// From a training program and its trained values to a model that only runs.
//
//   AMPC_RETURN_IF_ERROR(SaveInferenceProgram(trainer.program(), trainer.scope(), {"x"}, {"softmax_0.tmp_0"}, "mnist.pdmodel"));
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/formats/format.h"
#include "graph/program.h"
#include "runtime/exec/scope.h"

namespace ampc {

struct InferenceOptions {
  // Takes the casts and low types of AMP out: the model is fp32, with the value of the fp32 master where a param has one. False: the mixed
  // program as it trained, with weights stored low where all their readers take them low, and a low copy where only some do.
  bool remove_amp_cast = true;
};

// The part of `trained` that computes `fetches` from `feeds` (names of its main block, the new signature in this order; no feeds: what the
// fetches need), without gradients, optimizers and loss scaling, with every op as in a test and no writes to state. Params and states bring
// a copy of their values in `scope` along, or what they had in `trained` where the scope does not know them. Neither is changed; nothing
// may train meanwhile. Errors: usage for names as passes/cleanup/prune.h says, and for a fetch that the backward or optimizer part
// computes; bad input for a variable that has no value, or one of another type.
absl::StatusOr<Program> InferenceProgram(const Program& trained, const Scope& scope, const std::vector<std::string>& feeds,
                                         const std::vector<std::string>& fetches, const InferenceOptions& options = {});

// The same, written as the format that the path's name says (graph/formats/format.h).
absl::Status SaveInferenceProgram(const Program& trained, const Scope& scope, const std::vector<std::string>& feeds,
                                  const std::vector<std::string>& fetches, const std::string& path, const InferenceOptions& options = {},
                                  const SaveOptions& save = {});

}  // namespace ampc
