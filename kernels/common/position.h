// The position that a number of an index names: the one place where it is checked, for host and device.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc {

// The position among `size` ones that `number` names, -1 for none. `from_end`: -1 is the last one, -size the first.
AMPC_HOST_DEVICE inline int64_t PositionIn(int64_t number, int64_t size, bool from_end) {
  const int64_t position = from_end && number < 0 ? number + size : number;
  return position < 0 || position >= size ? -1 : position;
}

}  // namespace ampc
