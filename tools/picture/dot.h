// A program as Graphviz text.
#pragma once

#include <string>

#include "graph/program.h"

namespace ampc {

struct DotOptions {
  bool group = true;     // repeated blocks as one node, with one of them beside the graph
  int depth = 2;         // how many levels of blocks inside of blocks are drawn
  int max_nodes = 2000;  // what follows is left out, with a note
};

// Colours are those of the report's page. Guard regions and the blocks of control flow are clusters.
std::string ToDot(const Program& program, const DotOptions& options = {});

}  // namespace ampc
