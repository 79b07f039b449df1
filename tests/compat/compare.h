// CompareRewrites: did two systems make the same mixed-precision program of one input?
#pragma once

#include <string>
#include <vector>

#include "graph/program.h"

namespace ampc::testing {

// The first difference between two rewritings, "" when there is none. Compared are: the sequence of ops without casts, block
// by block; type and source (looking through casts) of every operand; the type of every result; the set of (source, type)
// that casts make; the declared types of feeds, parameters and the named fetches.
std::string CompareRewrites(const Program& ours, const Program& theirs, const std::vector<std::string>& fetches);

}  // namespace ampc::testing
