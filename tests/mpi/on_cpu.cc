#include "tests/mpi/worker_device.h"

namespace ampc::testing {

std::string WorkerDevice() { return "cpu"; }

}  // namespace ampc::testing
