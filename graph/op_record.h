// Columns of an op's record that depend on the op.
#pragma once

#include "graph/op.h"
#include "graph/op_def.h"

namespace ampc {

inline AmpClass AmpClassOf(const Op& op) { return op.def().amp_when != nullptr ? op.def().amp_when(op) : op.def().amp; }

// Zeros if the record has no cost.
inline Cost CostOf(const Op& op) { return op.def().cost != nullptr ? op.def().cost(op) : Cost(); }

// The flops of a convolution or matrix product, whose class is allow; 0 for other ops.
inline double ProductFlops(const Op& op) { return AmpClassOf(op) == AmpClass::kAllow ? CostOf(op).flops : 0; }

}  // namespace ampc
