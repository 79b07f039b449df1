// The graph of a program as data for the page: scenes with placed nodes, and what each op reads and makes.
#pragma once

#include <string>

#include "graph/program.h"

namespace ampc {

struct GraphLimits {
  int ops = 10'000;        // described one by one
  int nodes = 8'000;       // of all scenes together
  int flat_nodes = 1'500;  // of the graph without groups
  int operands = 24;       // of an op
};

// One line of JSON:
//   types: texts;   values: [[name, type]...];   num_ops
//   ops: [[[values read], [values made], guard region]...] in program order
//   casts: positions of the ops that AMP inserted
//   grouped, flat: [scene...]; flat only where it differs
// A scene: title, parent, first, num, width, height,
//   nodes: [[x, y, width, height, kind, tone, label, below the label, first, num, count, [scenes], [ops by tone]]...],
//   edges: [[from, to, path]...]. num of a value is its index in values. Lengths are CSS pixels, x and y are centres; tones and kinds are
//   numbered as in picture.h.
std::string GraphJson(const Program& program, const GraphLimits& limits);

}  // namespace ampc
