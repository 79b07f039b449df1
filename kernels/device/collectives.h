// Collectives: what the devices of a job do together, one process or thread per device. NCCL in terms of it; the emulated device too.
//
// Every rank makes the same calls with the same sizes in the same order. A call enqueues on a stream and returns; the result is there for
// work behind it on that stream. With other streams it is ordered by events, so it may overlap with what they do, and it may be captured.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "kernels/device/device.h"

namespace ampc {

enum class ReduceOp : uint8_t { kSum, kMax };

// Names a group to be formed: one rank makes it, all others get it from that one (Communicator::Broadcast).
struct CollectiveId {
  std::array<char, 128> bytes = {};
};

// A rank's part in a group. Used by one thread at a time; destroyed when its work is done.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // to[i] = the sum or the largest of from[i] over all ranks, the same bits everywhere; `to` may be `from`. Floats, i32, i64, u8, i8 and
  // bool (kMax: any). Whether a half's sum is rounded between ranks is the library's choice; a NaN stays one in sums, not in kMax.
  virtual absl::Status AllReduce(const void* from, void* to, int64_t count, DType type, ReduceOp op, Stream& stream) = 0;
  // `bytes` of rank `root` everywhere.
  virtual absl::Status Broadcast(void* data, int64_t bytes, int root, Stream& stream) = 0;

  // The calls between the two are enqueued by the second as one operation. Not nested.
  virtual absl::Status GroupStart() = 0;
  virtual absl::Status GroupEnd() = 0;

  // The error, if any, of earlier work of this rank or of one that it waits for; never waits.
  virtual absl::Status Check() = 0;
};

// Thread-safe.
class CollectiveLibrary {
 public:
  virtual ~CollectiveLibrary() = default;
  // Exit code 4 where the library cannot be opened.
  virtual absl::StatusOr<CollectiveId> NewId() = 0;
  // Waits until all `size` ranks have joined. `device` outlives the result.
  virtual absl::StatusOr<std::unique_ptr<Collectives>> Join(Device& device, const CollectiveId& id, int rank, int size) = 0;
};

}  // namespace ampc
