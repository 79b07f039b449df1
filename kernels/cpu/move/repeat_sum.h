// RepeatSum: the adjoint of a broadcast: what every repeat of an element receives is added up.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ampc {

class RepeatSum {
 public:
  RepeatSum() = default;
  // The operand is dense over `dims`. Dimensions that `summed` marks are added up, the result is dense over the others.
  RepeatSum(absl::Span<const int64_t> dims, const std::vector<bool>& summed);

  // Adds in double and in a fixed order, whatever `threads`. If a summed dimension is empty, the result is 0.
  void Run(const float* from, float* to, int threads) const { RunAs(from, to, threads); }
  void Run(const double* from, double* to, int threads) const { RunAs(from, to, threads); }

 private:
  struct Axis {
    int64_t size, stride;  // in the operand
  };
  template <typename T>
  void RunAs(const T* from, T* to, int threads) const;

  std::vector<Axis> kept_, summed_;  // outermost first; neighbours are joined
  int64_t run_ = 1;                  // elements that lie together and are kept, or
  int64_t sum_run_ = 1;              // that lie together and are added
  int64_t rows_ = 1, terms_ = 1;     // products of kept_; of summed_ and sum_run_
};

}  // namespace ampc
