// Reverse-mode gradients: appends to a program the ops that compute the gradient of a loss, from the records' gradient ops.
//
// The rules are Paddle's: gradients flow through values that depend on a wanted variable and reach the loss, stop at stop_gradient
// and at values that are no floats, and are added up with `sum` where a value has several readers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "passes/pass.h"

namespace ampc {

struct VarGradient {
  Var* var = nullptr;
  Var* gradient = nullptr;  // null where the loss does not depend on `var`
};

struct BackwardOptions {
  std::vector<std::string> wanted = {};   // names of params or feeds; empty: every trainable param
  std::vector<std::string> no_grad = {};  // names of values through which no gradient flows
};

// Appends to the main block; `loss` is a float value of it with one element. The gradient of x is named `x@GRAD`; a gradient op stands in
// the guard region of its forward op and carries Paddle's backward role. Returns one entry per wanted variable, in the program's order.
// Errors: a loss that is no scalar or depends on nothing wanted, an unknown name, an op on the way without a gradient (names the op and
// why). After an error the program may hold a part of the gradient ops.
absl::StatusOr<std::vector<VarGradient>> AppendBackward(Program& program, Var& loss, const BackwardOptions& options = {});

// The same for any values instead of a loss: `seeds` holds each with its gradient, a value of the same type. Nothing is started, and a
// value that depends on nothing wanted is no error.
absl::StatusOr<std::vector<VarGradient>> AppendGradients(Program& program, absl::Span<const VarGradient> seeds,
                                                         const BackwardOptions& options = {});

// append-backward{loss=NAME,wanted=a,no_grad=b}: the same as a pass; the gradients become fetches.
PassInfo AppendBackwardPass();

}  // namespace ampc
