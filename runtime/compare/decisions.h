// Outputs that decide: each element is the probability of a yes, of a place or of a label.
#pragma once

#include <set>
#include <string>

#include "graph/program.h"

namespace ampc {

// The names of the fetches that a sigmoid makes.
std::set<std::string> OutputsThatDecide(const Program& program);

}  // namespace ampc
