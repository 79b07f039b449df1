// Units of ops: the parts of a program whose share in the error is measured, each as a whole.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

struct OpUnit {
  std::vector<const Op*> ops;  // one behind the other in the program, among those that may be low
  double error = 0;            // that the unit alone brings
  bool measured = false;       // else it follows from others

  bool MaySplit() const { return ops.size() > 1; }
};

// Two units of at least one op each, cut in front of a convolution or matrix product where there is one; not measured.
std::vector<OpUnit> Split(const OpUnit& unit);

}  // namespace ampc
