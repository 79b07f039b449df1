// The source of a position of a padded dimension, and the other way round.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc {

enum class PadMode : uint8_t { kConstant, kEdge, kCircular, kReflect };  // kReflect: without the edge itself

// Source position of position i; -1 for the constant. Reflected positions may lie outside where too many are asked for.
AMPC_HOST_DEVICE inline int64_t PadSource(PadMode mode, int64_t i, int64_t in, int64_t before) {
  const int64_t at = i - before;
  if (at >= 0 && at < in) return at;
  switch (mode) {
    case PadMode::kEdge: return at < 0 ? 0 : in - 1;
    case PadMode::kCircular: return (at % in + in) % in;
    case PadMode::kReflect: return at < 0 ? -at : 2 * (in - 1) - at;
    default: return -1;
  }
}

// The positions whose source is one position, ascending.
struct PadTargets {
  int64_t count = 0, step = 1;
  int64_t at[3] = {};  // those that are reflected, else the first

  AMPC_HOST_DEVICE int64_t At(int64_t j) const { return step == 0 ? at[j] : at[0] + j * step; }
};

AMPC_HOST_DEVICE inline PadTargets PadTargetsOf(PadMode mode, int64_t p, int64_t in, int64_t before, int64_t out) {
  PadTargets t;
  if (mode == PadMode::kCircular) {
    t.step = in;
    t.at[0] = ((p + before) % in + in) % in;
    t.count = t.at[0] < out ? (out - 1 - t.at[0]) / in + 1 : 0;
  } else if (mode == PadMode::kReflect) {
    t.step = 0;
    const int64_t all[3] = {p > 0 ? before - p : -1, p + before, p + 1 < in ? before + 2 * (in - 1) - p : -1};
    for (int64_t at : all) {
      if (at >= 0 && at < out) t.at[t.count++] = at;
    }
  } else {
    int64_t first = p + before, last = first;
    if (mode == PadMode::kEdge && p == 0 && first > 0) first = 0;
    if (mode == PadMode::kEdge && p + 1 == in) last = out - 1;
    if (first < 0) first = 0;
    if (last >= out) last = out - 1;
    t.at[0] = first;
    t.count = last < first ? 0 : last - first + 1;
  }
  return t;
}

}  // namespace ampc
