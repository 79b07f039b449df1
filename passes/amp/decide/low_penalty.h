// LowPenalty: what a low op costs besides its time, for level auto (PassContext::Find).
#pragma once

#include <vector>

#include "graph/op.h"

namespace ampc {

struct LowPenalty {
  std::vector<double> seconds;  // by Op::id: that much is added where the op is low; a negative one is taken from it
  std::vector<int> unit;        // by Op::id: ops of one unit are all low or all fp32; -1 for an op that is chosen alone

  double SecondsOf(const Op& op) const { return op.id() < static_cast<int>(seconds.size()) ? seconds[op.id()] : 0; }
  int UnitOf(const Op& op) const { return op.id() < static_cast<int>(unit.size()) ? unit[op.id()] : -1; }
};

}  // namespace ampc
