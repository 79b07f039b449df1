// A hint about a selector that matches nothing.
#pragma once

#include <string>

#include "graph/program.h"
#include "passes/amp/select/selector.h"

namespace ampc {

// The end of a sentence about a term that matches no op of the program: the nearest names, the kind that would match, or what
// the program has of that kind.
std::string SelectorHint(const SelectorTerm& term, const Program& program);

}  // namespace ampc
