// The CollectiveLibrary of emulated devices.
#pragma once

#include "kernels/device/collectives.h"

namespace ampc {

// The ranks are the processes of this process's Communicator (kernels/communicator.h) where there is one of the group's size; otherwise
// they are devices of this process, each with a thread of its own that waits for its streams. Sums are computed in double and rounded once,
// over a Communicator in float.
CollectiveLibrary& EmulatedCollectives();

}  // namespace ampc
