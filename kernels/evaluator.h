// The Evaluator of graph/evaluator.h on the CPU kernels.
#pragma once

#include <memory>

#include "graph/evaluator.h"

namespace ampc {

// Evaluates an op whose results' types are known, with the kernel that a plan would bind, on one thread. Operands and results are in
// their declared types (f16 as halves), not in storage types. Stateless, thread-safe.
std::unique_ptr<Evaluator> MakeCpuEvaluator();

}  // namespace ampc
