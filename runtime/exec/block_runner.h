// BlockRunner: runs programs whose ops or shapes depend on data: control flow, tensor arrays, results as long as the data says.
//
// A block is cut into spans of ordinary ops between the ops that no plan can hold. A span is planned for the dims of what it
// reads, as far as shapes follow from them; where a shape depends on the value of a small operand (range, a slice at a computed
// place), that one op is planned for the value. An op that was not lowered, because it lacked a shape or value, is a program of its own
// (deferred_op.h). Values that pass from plan to plan are allocated per run; inside a plan nothing is.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "runtime/exec/deferred_op.h"
#include "runtime/exec/environment.h"
#include "runtime/exec/host_ops.h"
#include "runtime/exec/range_plans.h"

namespace ampc {

// Thread-safe: runs share the plans, each has its own values.
class BlockRunner {
 public:
  // True where the program needs a runner whatever the shapes are.
  static bool NeededBy(const Program& program, const KernelRegistry& kernels);

  // Keeps a reference to `context`.
  explicit BlockRunner(const PlanContext& context);

  // The variables of context.states have their values in front of the run, and get their last ones when it went well.
  // `feeds` follow program.feeds; fetches follow program.fetches, both in declared types. `observed` may be null; an error of
  // its observer ends the run, also inside loops.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) const;

  int num_plans() const;
  int64_t arena_bytes() const;  // of the largest plan

 private:
  enum class SegmentKind : uint8_t { kSpan, kHost, kDeferred, kWhile, kConditional };
  struct Segment {
    SegmentKind kind = SegmentKind::kSpan;
    int begin = 0;
    int end = 0;
    HostOpFn host = nullptr;
    std::unique_ptr<const DeferredOp> deferred = nullptr;
  };
  // Plans that start at one op: of the whole span behind it, or of this op alone for the values that its shapes depend on.
  struct Entry {
    Entry(const PlanContext& context, OpRange range, size_t capacity) : plans(context, std::move(range), capacity) {}
    RangePlans plans;
    std::vector<bool> by_value;  // as the range's feeds
  };
  struct Entries {
    std::unique_ptr<Entry> span;
    std::unique_ptr<Entry> op;
    std::atomic<bool> needs_values = false;  // the span came out as kNeedsValues
  };
  struct Frame {
    Environment env;
    ObservedRun* observed = nullptr;
  };

  void SetStates(Environment& env) const;
  absl::Status KeepStates(const Environment& env) const;
  std::vector<Segment> Cut(const Block& block) const;
  std::unique_ptr<Entry> MakeEntry(const Block& block, int begin, int end, bool values) const;
  Entries& At(const Block& block, int begin, int end) const;
  absl::StatusOr<std::shared_ptr<const Executor>> PlanFor(Entry& entry, absl::Span<const SharedTensor> feeds, const Environment& env) const;
  absl::StatusOr<std::vector<SharedTensor>> ReadFeeds(const OpRange& range, const Environment& env) const;
  absl::StatusOr<std::shared_ptr<const Executor>> RunEntry(Entry& entry, Frame& frame) const;

  absl::Status RunBlock(const Block& block, Frame& frame) const;
  absl::Status RunSegment(const Block& block, const Segment& segment, Frame& frame) const;
  absl::Status RunSpan(const Block& block, const Segment& segment, Frame& frame) const;
  absl::Status RunHost(const Op& op, const Segment& segment, Frame& frame) const;
  absl::Status RunWhile(const Op& op, Frame& frame) const;
  absl::Status RunConditional(const Op& op, Frame& frame) const;

  const PlanContext& context_;
  std::vector<std::vector<Segment>> segments_;   // by block
  std::vector<const Var*> states_;               // that outlive a run
  std::vector<std::vector<const Var*>> locals_;  // by block: carries and arrays of its own, which start without a value
  mutable Mutex mutex_;
  mutable absl::flat_hash_map<std::pair<int, int>, std::unique_ptr<Entries>> entries_ ABSL_GUARDED_BY(mutex_);  // by block, op
};

}  // namespace ampc
