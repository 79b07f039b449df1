// ExecutionPlan: everything fixed before the first run: kernels bound, buffers placed, order decided. Immutable.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/plan/device_constants.h"
#include "runtime/plan/plan_target.h"
#include "runtime/plan/specialize.h"

namespace ampc {

// The memory of a value during a run.
struct Address {
  enum Kind : uint8_t { kNone, kArena, kConstant, kFeed, kState, kFetch };
  Kind kind = kNone;
  int64_t offset = 0;              // kArena: bytes from the arena's start
  int64_t bytes = 0;               // kArena: of the buffer there
  const void* constant = nullptr;  // kConstant: on a device, for an operand, in its memory; of a fetch always on the host
  int feed = -1;                   // kFeed: index into range.feeds
  void* state = nullptr;           // kState: memory that the plan does not own; on a device there
  int fetch = -1;                  // kFetch: index into range.fetches; the steps work in the memory of that result
};

struct Rounding {
  int result = 0;  // which result of the step
  int64_t elements = 0;
  DType to = DType::kInvalid;
};

struct Step {
  const OpInstance* instance = nullptr;
  std::unique_ptr<Kernel> kernel;
  int first = 0;  // operands [first, first + inputs + outputs) of ExecutionPlan::operands
  int inputs = 0;
  int outputs = 0;
  Address workspace;
  std::vector<Rounding> roundings;  // on the CPU; kernels of a device round
  int64_t bytes_through_host = 0;   // a device's step that the host computes: what is copied each time
};

// A feed given as f16 or bf16 is widened into the arena before the first step; on a device every feed that is read is copied there.
struct FeedCopy {
  int feed = 0;
  Address to;
};

struct ExecutionPlan {
  std::optional<PlanTarget> target;                        // none: the CPU
  std::vector<DeviceConstants::Buffer> constants;          // on the device
  std::vector<std::shared_ptr<const HostTensor>> widened;  // constants that lie in memory as halves, and that kernels read as float32
  std::vector<Step> steps;
  std::vector<Address> operands;
  std::vector<FeedCopy> feed_copies;
  std::vector<Address> fetches;  // as range.fetches
  int64_t arena_bytes = 0;
  int threads = 1;
  Specialized specialized;  // descs of every value; owns folded constants
  std::string largest;      // "'x' f16 [64, 256] 32768 bytes, ...": the largest values in the arena of a device's plan

  const OpRange& range() const { return specialized.range; }
  // Bytes of a value in the plan's memory: in storage type on the CPU, in the declared type on a device.
  int64_t BytesOf(const TensorDesc& desc) const {
    return target.has_value() ? desc.NumElements() * static_cast<int64_t>(SizeOf(desc.dtype)) : desc.StorageBytes();
  }
};

// One line per step: index, op, implementation, addresses, of results with the type in which they lie; then the arena's size.
std::string ToString(const ExecutionPlan& plan);

}  // namespace ampc
