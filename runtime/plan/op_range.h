// OpRange: some ops of a block, one behind the other, that one plan executes.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

struct OpRange {
  const Block* block = nullptr;
  int begin = 0;  // ops [begin, end) of the block
  int end = 0;
  std::vector<const Var*> feeds;    // values from outside
  std::vector<const Var*> fetches;  // values given back
  // True: feeds and fetches are in storage type, and the fetches follow from how far the plan gets. False: a whole program, in the
  // declared types of its signature.
  bool inner = false;
};

OpRange WholeRange(const Program& program);

}  // namespace ampc
