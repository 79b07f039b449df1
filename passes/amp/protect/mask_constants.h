// MaskConstant: a constant beyond the range that says which elements of a softmax do not count, and the number that says the same in the
// low type.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ampc {

struct MaskConstant {
  double was = 0, stored = 0;
  bool many = false;        // some elements are zero, all others `was` or beyond
  std::string why;          // in words, with the proof that results are the same
  std::vector<int> values;  // Var::id, of itself and of what it becomes a part of: the ops that read these take it away in the end
};

using MaskConstants = std::map<int, MaskConstant>;  // by Var::id

}  // namespace ampc
