// Units of ops: the parts of a program whose share in the error is measured, each as a whole.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

struct OpUnit {
  std::vector<const Op*> ops;  // one behind the other in the program, among those that may be low
  double error = 0;            // that the unit alone brings, once it is measured
  bool measured = false;

  bool MaySplit() const { return ops.size() > 1; }
};

// At most `most` units of `ops`, which are in program order: one for each op where they are few, else stretches that begin with a
// convolution or matrix product and have about as many of these each.
std::vector<OpUnit> MakeUnits(const std::vector<const Op*>& ops, int most);

// Two units of at least one op each, where it is best cut; not measured.
std::vector<OpUnit> Split(const OpUnit& unit);

}  // namespace ampc
