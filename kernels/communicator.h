// Communicator: the processes of a job, and what they do together. A collective call returns when all processes have made it, in the same
// order and with the same sizes; a process that dies ends the job.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace ampc {

// Used by one thread at a time.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // of this process, in [0, size)
  virtual int size() const = 0;
  // Every process gets the same bits: element by element the sum over all of them.
  virtual absl::Status AllReduceSum(absl::Span<float> values) = 0;
  // `bytes` of process `root` everywhere.
  virtual absl::Status Broadcast(absl::Span<char> bytes, int root) = 0;
  virtual absl::Status Barrier() = 0;
};

// The job that this process belongs to; null for a process of its own. Kernels of collective ops use it. A process joins one job and
// stays, so setting it (null: leave) happens before anything runs that uses it, or after.
Communicator* ProcessCommunicator();
void SetProcessCommunicator(std::unique_ptr<Communicator> communicator);

}  // namespace ampc
