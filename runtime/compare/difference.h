// How far two tensors of one shape lie apart.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"

namespace ampc {

// Of elements that are finite in both, but for the last four. "Relative" is over the largest |a| of the tensor.
struct Difference {
  int64_t elements = 0;
  double max_abs = 0;
  double max_rel = 0;
  double max_ulp = 0;  // in units in the last place of the narrower of the two types
  double mean_rel = 0;
  double p99_rel = 0;  // 99 of 100 differences are at most this; only where it is asked for
  double cosine = 1;
  double largest_a = 0, largest_b = 0;
  int64_t mismatched_non_finite = 0;  // one is finite and the other not, or they are different infinities
  int64_t both_non_finite = 0;        // NaN in both, or the same infinity
};

// `narrow` is the type whose units in the last place count. Results do not depend on the number of threads.
Difference Compare(absl::Span<const double> a, absl::Span<const double> b, DType narrow);
Difference Compare(absl::Span<const float> a, absl::Span<const float> b, DType narrow, int threads = 1);
// Of any type, with p99_rel.
Difference Compare(const HostTensor& a, const HostTensor& b, DType narrow);

// The elements as doubles; integers and bools too.
std::vector<double> ToDoubles(const HostTensor& tensor);

}  // namespace ampc
