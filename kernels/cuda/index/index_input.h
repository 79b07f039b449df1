// Specs of indexes in the terms of the launchers.
#pragma once

#include <algorithm>

#include "absl/status/statusor.h"
#include "kernels/cuda/index/index.h"
#include "kernels/spec/index/index_spec.h"

namespace ampc::cuda {

// Without the index itself, which is known when the kernel runs.
inline Positions PositionsOf(const SliceIndexSpec& s) {
  Positions p;
  p.type = s.type;
  p.from_end = s.from_end;
  p.sizes[0] = s.slots;
  p.padding = s.padding;
  return p;
}

inline absl::StatusOr<Positions> PositionsOf(const SpecView& view, const NdIndexSpec& s) {
  if (s.sizes.size() > kMaxDepth) return view.Unsupported("the device takes indexes of at most 8 dimensions");
  Positions p;
  p.type = s.type;
  p.from_end = s.from_end;
  p.depth = static_cast<int>(s.sizes.size());
  std::copy(s.sizes.begin(), s.sizes.end(), p.sizes);
  return p;
}

inline AlongAxis AlongOf(const AlongAxisSpec& s, const KernelArgs& args) {
  return {args.inputs[s.flat], s.type, s.from_end, s.outer, s.slots, s.count, s.inner};
}

}  // namespace ampc::cuda
