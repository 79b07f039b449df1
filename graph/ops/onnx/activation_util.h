// The activations that ONNX Runtime fuses into other operators.
#pragma once

#include <optional>
#include <string>

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// An activation by its ONNX name; the numbers that are absent have the defaults of the operator of that name.
struct FusedActivation {
  std::string name;  // "" for none
  std::optional<double> alpha, beta;
};

// The activation of `x`. Unsupported for a name that is none.
Var* Activated(Lowering& l, Var* x, const FusedActivation& activation);

}  // namespace ampc::onnx
