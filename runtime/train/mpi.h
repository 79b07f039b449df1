// The processes that mpirun started, through Debian's Open MPI.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/communicator.h"

namespace ampc {

// Whether mpirun started this process, and others with it.
bool UnderMpi();

// Joins the job; once per process. The library is opened when this is called, so nothing else depends on it: not the build, and not a run
// with one process. Errors: unsupported (exit 4) when libmpi.so.40 cannot be opened or is no Open MPI. Leaving is the destructor's work,
// which waits for the other processes; a process that ends without it, or by a signal, makes mpirun end the others and say which one
// it was. An error of the library itself ends the job with a message of the library.
absl::StatusOr<std::unique_ptr<Communicator>> JoinMpi();

}  // namespace ampc
