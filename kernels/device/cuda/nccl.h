// The CollectiveLibrary of CUDA devices: NCCL, opened at run time.
#pragma once

#include "kernels/device/collectives.h"

namespace ampc {

CollectiveLibrary& Nccl();

}  // namespace ampc
