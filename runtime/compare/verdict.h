// Whether an output of a converted model is still the original's: the one table of how far it may lie away, and how outputs are judged by
// it.
#pragma once

#include <optional>
#include <string>

#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"
#include "runtime/compare/difference.h"

namespace ampc {

// The error that computing in a type may leave in a model's output. A result is rounded by half a unit of 2^-11 (f16) or 2^-8 (bf16); the
// roundings of a network's layers come together, and 64 units (f16) or 32 (bf16) are several times what is measured on models whose answers
// stay the same.
struct OutputTolerance {
  double of_largest = 0;  // the largest difference, over the output's largest value
  // Of rows of class probabilities: the share whose first class may be another one, and how much probability may go to other classes, on
  // average. Of maps of decisions: how many decisions may be others, and how much probability may move, both over the number of yes.
  double disagreeing = 0, moved = 0;
};
constexpr OutputTolerance ToleranceOfOutputs(DType lowest) {
  switch (lowest) {
    case DType::kF16: return {0x1p-5, 0.01, 0x1p-5};
    case DType::kBF16: return {0x1p-3, 0.03, 0x1p-3};
    default: return {1e-4, 0, 1e-4};
  }
}

struct JudgeOptions {
  DType lowest = DType::kF32;                  // the narrowest type that either model computes in
  bool decisions = false;                      // each element is the probability of a yes (decisions.h)
  std::optional<double> of_largest = {};       // instead of the table's, for every output, classes or not
  std::optional<double> rtol = {}, atol = {};  // either: |a - b| <= atol + rtol |a| for each element, nothing else
};

struct OutputVerdict {
  bool passed = false;
  std::string why;  // "max rel 0.0121 of 0.0313", "first class the same in 38 of 38 rows", "all zero in both"
};

// `b` against `a`, whose difference is `d`; of one shape. Rows along the last axis that are probabilities are judged by their first class:
// a row agrees where b's first class is a's, or is as probable in a up to the tolerance. Maps of decisions, of a thousand elements and
// more, are judged by which elements are above 1/2, as rows are: steep borders move, and the largest difference says how steep they are. An
// output with an element that is finite in one only fails; so does an output of which nothing is finite in either, because nothing can be
// said of it.
OutputVerdict JudgeOutput(const HostTensor& a, const HostTensor& b, const Difference& d, const JudgeOptions& options);

}  // namespace ampc
