// Launcher of gradients of maps of two broadcast operands: a functor of x, y and g (functors::RowGradient, those of broadcasts), summed
// where the operand that it belongs to repeats. Sums are taken in double in an order that depends on the shape only: first chunks of terms,
// then the chunks' sums.
#pragma once

#include "kernels/common/functor_ids.h"
#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {

// Some dimensions of x, y and g, innermost first, with their strides in elements.
struct GradientAxes {
  int rank = 0;
  int64_t count = 1;
  Divider size[kMaxMapRank];
  int64_t stride[3][kMaxMapRank] = {};
};

struct BroadcastGradientParams {
  functors::RowGradient functor;
  // Without sums: x, y and g as a map. Of the other case only types, data and the result.
  MapParams<3> map;
  bool sums = false;
  GradientAxes kept, summed;      // where the operand has its own elements, and where it repeats
  bool columns = false;           // neighbours in memory belong to different results
  int64_t chunk = 1, chunks = 1;  // terms of one chunk; how many
  double* parts = nullptr;        // kept.count * chunks of them
};
int LaunchBroadcastGradient(void* stream, const BroadcastGradientParams& p);

}  // namespace ampc::cuda
