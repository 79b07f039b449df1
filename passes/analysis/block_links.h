// BlockLinks: the values that are one another on both sides of a subgraph's border.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

struct BlockLink {
  const Var* from;
  const Var* to;
};

// Of the ops of ONNX with subgraphs, in program order: what the op starts a subgraph with and the subgraph's inputs, the subgraph's outputs and the
// results of the op, and what a loop's body gives and gets as a state in the next turn. Captured values and carries of native control flow
// are one variable everywhere and need no link.
std::vector<BlockLink> BlockLinks(const Program& program);

}  // namespace ampc
