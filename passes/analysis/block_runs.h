// How often the blocks of a program run in one run of it, for what is predicted of its time.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

// The trips of a loop where no literal and no dim says how many.
inline constexpr double kUnknownTrips = 10;

// By Block::index(): 1 for main. The body of a loop runs once a trip, as often as its literal number of trips or the rows that it scans,
// and of the branches of a condition each one as often as the others; that of a condition with one block every other time.
std::vector<double> BlockRuns(const Program& program);

}  // namespace ampc
