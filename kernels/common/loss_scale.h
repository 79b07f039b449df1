// Dynamic loss scaling: the state machine of update_loss_scaling, for host and device.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc {

struct LossScalePolicy {
  int32_t incr_every_n_steps = 0;
  int32_t decr_every_n_nan_or_inf = 0;
  float incr_ratio = 1;
  float decr_ratio = 1;
  float floor = 1;
  float cap = 0;  // 0: none
};

template <typename T>
struct LossScaleState {
  T scale = 1;
  int32_t good = 0;  // finite steps in a row
  int32_t bad = 0;   // non-finite steps in a row
};

// One step. A counter fires when it equals its threshold: restored above it, it never fires. The scale does not fall below the
// floor, and grows neither above the cap nor to infinity.
template <typename T>
AMPC_HOST_DEVICE inline LossScaleState<T> NextLossScale(LossScaleState<T> state, bool found_infinite, const LossScalePolicy& policy) {
  if (found_infinite) {
    state.good = 0;
    if (++state.bad == policy.decr_every_n_nan_or_inf) {
      state.bad = 0;
      state.scale *= static_cast<T>(policy.decr_ratio);
      if (state.scale < static_cast<T>(policy.floor)) state.scale = static_cast<T>(policy.floor);
    }
  } else {
    state.bad = 0;
    if (++state.good == policy.incr_every_n_steps) {
      state.good = 0;
      T grown = state.scale * static_cast<T>(policy.incr_ratio);
      if (policy.cap != 0 && grown > static_cast<T>(policy.cap)) grown = static_cast<T>(policy.cap);
      if (grown - grown == T(0)) state.scale = grown;  // finite
    }
  }
  return state;
}

}  // namespace ampc
