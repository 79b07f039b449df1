// ExecutionPlan: everything fixed before the first run: kernels bound, buffers placed, order decided. Immutable.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kernel.h"
#include "runtime/plan/device_constants.h"
#include "runtime/plan/plan_target.h"
#include "runtime/plan/specialize.h"

namespace ampc {

// Where a value lies during a run.
struct Place {
  enum Kind : uint8_t { kNone, kArena, kConstant, kFeed, kState };
  Kind kind = kNone;
  int64_t offset = 0;              // kArena: bytes from the arena's start
  int64_t bytes = 0;               // kArena: of the buffer there
  const void* constant = nullptr;  // kConstant: on a device, for an operand, in its memory; of a fetch always on the host
  int feed = -1;                   // kFeed: index into region.feeds
  void* state = nullptr;           // kState: memory that the plan does not own; on a device there
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
  Place workspace;
  std::vector<Rounding> roundings;  // on the CPU; kernels of a device round
  int64_t bytes_through_host = 0;   // a device's step that the host computes: what is copied each time
};

// A feed given as f16 or bf16 is widened into the arena before the first step; on a device every feed that is read is copied there.
struct FeedCopy {
  int feed = 0;
  Place to;
};

struct ExecutionPlan {
  std::optional<PlanTarget> target;                // none: the CPU
  std::vector<DeviceConstants::Buffer> constants;  // on the device
  std::vector<Step> steps;
  std::vector<Place> operands;
  std::vector<FeedCopy> feed_copies;
  std::vector<Place> fetches;  // as region.fetches
  int64_t arena_bytes = 0;
  int threads = 1;
  Specialized specialized;  // descs of every value; owns folded constants
  std::string largest;      // "'x' f16 [64, 256] 32768 bytes, ...": the largest values in the arena of a device's plan

  const Region& region() const { return specialized.region; }
  // Bytes of a value in the plan's memory: in storage type on the CPU, in the declared type on a device.
  int64_t BytesOf(const TensorDesc& desc) const {
    return target.has_value() ? desc.NumElements() * static_cast<int64_t>(SizeOf(desc.dtype)) : desc.StorageBytes();
  }
};

// Binds kernels, aliases and reuses buffers in place, places them in the arena. Ops run in program order, so an op that reads a state
// sees what was written last before it; a value that only shares the state's memory is copied where it outlives the next write.
// A kernel whose op has several results, one of which overwrites the state that an operand is (ParamOut), is given one memory for
// both and must read an element before it writes it. What has one result is given memory of its own unless its in_place_input says
// that it may share. `feeds` follow region.feeds. A plan that had to
// stop (Specialized::stopped) runs as far as its region.end; one of a whole program has no steps then. Errors as Specialize, plus
// those of kernels.
absl::StatusOr<std::unique_ptr<const ExecutionPlan>> BuildPlan(const PlanContext& context, Region region,
                                                               absl::Span<const KnownFeed> feeds);

// One line per step: index, op, implementation, places, of results with the type in which they lie; then the arena's size.
std::string ToString(const ExecutionPlan& plan);

}  // namespace ampc
