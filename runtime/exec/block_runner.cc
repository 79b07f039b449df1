#include "runtime/exec/block_runner.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "kernels/storage.h"

namespace ampc {
namespace {

// Plans kept per entry: of the main block for the shapes in use; in loops, where sizes may grow from one iteration to the next, and
// of single ops, which are small, for many.
constexpr size_t kMainPlans = 16;
constexpr size_t kInnerPlans = 256;
// A value that takes more is data, not a shape.
constexpr size_t kMaxKeyBytes = 4096;
constexpr size_t kMaxFixedBytes = 512;

// Operands whose values decide the op's shapes: those that inference reads, or where the record names none, all integers.
std::vector<bool> HostOperands(const Op& op) {
  std::vector<bool> host(op.inputs().size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = op.def().inputs[op.InputSlotOf(static_cast<int>(i))].host_value;
  if (std::find(host.begin(), host.end(), true) != host.end()) return host;
  for (size_t i = 0; i < host.size(); ++i) host[i] = !op.inputs()[i]->type.IsFloat();
  return host;
}

absl::StatusOr<bool> ReadCondition(const Op& op, const Var& var, const Environment& env) {
  AMPC_ASSIGN_OR_RETURN(SharedTensor value, env.Read(op, var));
  if (value->dtype() == DType::kBool && value->num_elements() == 1) return value->values<bool>()[0];
  return UsageError(absl::StrCat(Describe(op), ": condition '", var.name(), "' is ", Name(value->dtype()), " with ", value->num_elements(),
                                 " elements, needs one bool"));
}

bool IsWhile(const Op& op) { return op.type() == "while" && !op.def().opaque; }
bool IsConditional(const Op& op) { return op.type() == "conditional_block" && !op.def().opaque; }

}  // namespace

bool BlockRunner::NeededBy(const Program& program, const KernelRegistry& kernels) {
  if (program.num_blocks() > 1) return true;
  const std::vector<std::unique_ptr<Op>>& ops = program.main().ops();
  return std::any_of(ops.begin(), ops.end(),
                     [&](const std::unique_ptr<Op>& op) { return FindHostOp(*op, kernels) != nullptr || DeferredOp::Is(*op); });
}

BlockRunner::BlockRunner(const PlanContext& context) : context_(context) {
  locals_.resize(context.program.num_blocks());
  for (int b = 0; b < context.program.num_blocks(); ++b) {
    segments_.push_back(Cut(context.program.block(b)));
    for (const std::unique_ptr<Var>& var : context.program.block(b).vars()) {
      const bool array = var->kind == VarKind::kState && var->type.kind == TypeKind::kTensorArray;
      if (array || var->kind == VarKind::kCarry) locals_[b].push_back(var.get());
      if (context.states != nullptr && context.states->Find(*var) != nullptr) states_.push_back(var.get());
    }
  }
}

std::vector<BlockRunner::Segment> BlockRunner::Cut(const Block& block) const {
  std::vector<Segment> segments;
  const int n = static_cast<int>(block.ops().size());
  int span = 0;
  const auto close = [&](int end) {
    if (span < end) segments.push_back({SegmentKind::kSpan, span, end});
    span = end + 1;
  };
  for (int i = 0; i < n; ++i) {
    const Op& op = *block.ops()[i];
    const HostOpFn host = FindHostOp(op, context_.kernels);
    const SegmentKind kind = host != nullptr      ? SegmentKind::kHost
                             : DeferredOp::Is(op) ? SegmentKind::kDeferred
                             : IsWhile(op)        ? SegmentKind::kWhile
                             : IsConditional(op)  ? SegmentKind::kConditional
                                                  : SegmentKind::kSpan;
    if (kind == SegmentKind::kSpan) continue;
    close(i);
    const DeferredOp::Rounding rounding{context_.fuse, context_.excess_precision};
    segments.push_back({kind, i, i + 1, host, kind == SegmentKind::kDeferred ? std::make_unique<const DeferredOp>(op, rounding) : nullptr});
  }
  close(n);
  return segments;
}

std::unique_ptr<BlockRunner::Entry> BlockRunner::MakeEntry(const Block& block, int begin, int end, bool values) const {
  OpRange range;
  range.block = &block;
  range.begin = begin;
  range.end = end;
  range.inner = true;
  range.feeds = context_.liveness.Reads(block, begin, end);
  auto entry = std::make_unique<Entry>(context_, std::move(range), block.index() == 0 && !values ? kMainPlans : kInnerPlans);
  const std::vector<const Var*>& feeds = entry->plans.range().feeds;
  entry->by_value.assign(feeds.size(), false);
  if (!values) return entry;
  const Op& op = *block.ops()[begin];
  const std::vector<bool> host = HostOperands(op);
  for (size_t i = 0; i < host.size(); ++i) {
    const auto at = std::find(feeds.begin(), feeds.end(), op.inputs()[i]);
    if (host[i] && at != feeds.end()) entry->by_value[at - feeds.begin()] = true;
  }
  return entry;
}

BlockRunner::Entries& BlockRunner::At(const Block& block, int begin, int end) const {
  MutexLock lock(mutex_);
  std::unique_ptr<Entries>& at = entries_[{block.index(), begin}];
  if (at == nullptr) {
    at = std::make_unique<Entries>();
    at->span = MakeEntry(block, begin, end, false);
    at->op = MakeEntry(block, begin, begin + 1, true);
  }
  return *at;
}

absl::StatusOr<std::vector<SharedTensor>> BlockRunner::ReadFeeds(const OpRange& range, const Environment& env) const {
  std::vector<SharedTensor> feeds;
  feeds.reserve(range.feeds.size());
  for (const Var* var : range.feeds) {
    AMPC_ASSIGN_OR_RETURN(feeds.emplace_back(), env.Find(*var));
    for (int i = range.begin; feeds.back() == nullptr; ++i) {
      const Op& op = *range.block->ops()[i];
      const bool reads = std::find(op.inputs().begin(), op.inputs().end(), var) != op.inputs().end();
      if (reads) return env.Read(op, *var).status();
    }
  }
  return feeds;
}

absl::StatusOr<std::shared_ptr<const Executor>> BlockRunner::PlanFor(Entry& entry, absl::Span<const SharedTensor> feeds,
                                                                     const Environment& env) const {
  std::vector<KnownFeed> known;
  known.reserve(feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    const bool value = (entry.by_value[i] && feeds[i]->size_bytes() <= kMaxKeyBytes) || env.IsFixed(*entry.plans.range().feeds[i]);
    known.push_back({feeds[i]->dims(), value ? feeds[i].get() : nullptr});
  }
  return entry.plans.Get(known);
}

// Runs the plan that `entry` has for the present values, and returns it: its outcome says how far that was.
absl::StatusOr<std::shared_ptr<const Executor>> BlockRunner::RunEntry(Entry& entry, Frame& frame) const {
  AMPC_ASSIGN_OR_RETURN(const std::vector<SharedTensor> feeds, ReadFeeds(entry.plans.range(), frame.env));
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executor> executor, PlanFor(entry, feeds, frame.env));
  const Specialized& s = executor->plan().specialized;
  if (s.outcome == Outcome::kNeedsValues) return executor;
  AMPC_ASSIGN_OR_RETURN(std::vector<SharedTensor> fetches, executor->RunInner(feeds, frame.observed));
  const bool by_value = std::find(entry.by_value.begin(), entry.by_value.end(), true) != entry.by_value.end();
  for (size_t i = 0; i < fetches.size(); ++i) {
    const Var& var = *s.range.fetches[i];
    // The results of a plan for certain values are data again for others: they would need a plan per value, too.
    const bool fixed = !by_value && var.kind == VarKind::kTemp && s.values[s.fetches[i]] != nullptr && !var.type.IsFloat() &&
                       fetches[i]->size_bytes() <= kMaxFixedBytes;
    frame.env.Set(var, std::move(fetches[i]), fixed);
  }
  return executor;
}

absl::Status BlockRunner::RunSpan(const Block& block, const Segment& segment, Frame& frame) const {
  for (int at = segment.begin; at < segment.end;) {
    Entries& entries = At(block, at, segment.end);
    std::shared_ptr<const Executor> ran;
    bool needs_values = entries.needs_values.load(std::memory_order_relaxed);
    if (!needs_values) {
      AMPC_ASSIGN_OR_RETURN(ran, RunEntry(*entries.span, frame));
      needs_values = ran->plan().specialized.outcome == Outcome::kNeedsValues;
      if (needs_values) entries.needs_values.store(true, std::memory_order_relaxed);
    }
    if (needs_values) {
      AMPC_ASSIGN_OR_RETURN(ran, RunEntry(*entries.op, frame));
    }
    const Specialized& s = ran->plan().specialized;
    if (s.outcome == Outcome::kNeedsValues) return s.stopped;
    at = s.range.end;
  }
  return absl::OkStatus();
}

absl::Status BlockRunner::RunHost(const Op& op, const Segment& segment, Frame& frame) const {
  const HostCall call = {op, frame.env, context_.kernels, context_.threads};
  const auto run = [&] { return segment.deferred != nullptr ? segment.deferred->Run(call) : segment.host(call); };
  if (frame.observed == nullptr) return run();
  ObservedStep seen;
  seen.index = frame.observed->next_index++;
  seen.op = &op;
  seen.start_seconds = frame.observed->Seconds();
  AMPC_RETURN_IF_ERROR(run());
  seen.seconds = frame.observed->Seconds() - seen.start_seconds;
  std::vector<ObservedValue> results;
  std::vector<SharedTensor> owned;
  for (const Var* var : op.outputs()) {
    if (var->type.kind != TypeKind::kTensor) continue;
    AMPC_ASSIGN_OR_RETURN(SharedTensor value, frame.env.Find(*var));
    if (value == nullptr) continue;
    results.push_back({var, {var->type.dtype, Dims(value->dims().begin(), value->dims().end())}, value->data()});
    owned.push_back(std::move(value));
  }
  seen.results = results;
  return frame.observed->observer.AfterStep(seen);
}

absl::Status BlockRunner::RunWhile(const Op& op, Frame& frame) const {
  const Block& body = context_.program.block(op.SubBlocks()[0]);
  const Var& condition = *op.input("Condition");
  for (;;) {
    AMPC_ASSIGN_OR_RETURN(const bool again, ReadCondition(op, condition, frame.env));
    if (!again) return absl::OkStatus();
    AMPC_RETURN_IF_ERROR(RunBlock(body, frame));
  }
}

absl::Status BlockRunner::RunConditional(const Op& op, Frame& frame) const {
  bool run = true;
  for (const Var* var : op.inputs(op.def().InputSlot("Cond"))) {
    if (op.GetBool("is_scalar_condition")) {
      AMPC_ASSIGN_OR_RETURN(run, ReadCondition(op, *var, frame.env));
    } else {
      AMPC_ASSIGN_OR_RETURN(const SharedTensor value, frame.env.Read(op, *var));
      run = run && value->num_elements() > 0;
    }
  }
  return run ? RunBlock(context_.program.block(op.SubBlocks()[0]), frame) : absl::OkStatus();
}

absl::Status BlockRunner::RunSegment(const Block& block, const Segment& segment, Frame& frame) const {
  const Op& op = *block.ops()[segment.begin];
  switch (segment.kind) {
    case SegmentKind::kSpan: return RunSpan(block, segment, frame);
    case SegmentKind::kHost:
    case SegmentKind::kDeferred: return RunHost(op, segment, frame);
    case SegmentKind::kWhile: return RunWhile(op, frame);
    case SegmentKind::kConditional: return RunConditional(op, frame);
  }
  return absl::OkStatus();
}

absl::Status BlockRunner::RunBlock(const Block& block, Frame& frame) const {
  for (const Var* var : locals_[block.index()]) frame.env.Release(*var);
  for (const Segment& segment : segments_[block.index()]) {
    AMPC_RETURN_IF_ERROR(RunSegment(block, segment, frame));
    for (int i = segment.begin; i < segment.end; ++i) {
      for (const Var* var : context_.liveness.LastReadAt(block, i)) frame.env.Release(*var);
    }
  }
  return absl::OkStatus();
}

void BlockRunner::SetStates(Environment& env) const {
  for (const Var* var : states_) env.Set(*var, SharedTensor(SharedTensor(), context_.states->Find(*var)));
}

absl::Status BlockRunner::KeepStates(const Environment& env) const {
  for (const Var* var : states_) {
    AMPC_ASSIGN_OR_RETURN(const SharedTensor value, env.Find(*var));
    const HostTensor& state = *context_.states->Find(*var);
    if (value->dtype() == state.dtype() && value->dims() == state.dims()) continue;
    return UsageError(absl::StrCat("the program leaves ", Name(value->dtype()), " ", ShapeToString(value->dims()), " in '", var->name(),
                                   "', which keeps ", Name(state.dtype()), " ", ShapeToString(state.dims())));
  }
  absl::flat_hash_set<const HostTensor*> overwritten;
  for (const Var* var : states_) overwritten.insert(context_.states->Find(*var));
  std::vector<std::pair<HostTensor*, SharedTensor>> writes;
  for (const Var* var : states_) {
    HostTensor* state = context_.states->Find(*var);
    AMPC_ASSIGN_OR_RETURN(SharedTensor value, env.Find(*var));
    if (value.get() == state) continue;
    // One state may have been handed on to another, without a copy.
    if (overwritten.contains(value.get())) value = std::make_shared<const HostTensor>(*value);
    writes.emplace_back(state, std::move(value));
  }
  for (const auto& [state, value] : writes) {
    if (state->size_bytes() > 0) std::memcpy(state->mutable_data(), value->data(), state->size_bytes());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> BlockRunner::Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) const {
  const Program& program = context_.program;
  Frame frame{Environment(program, context_.constants), observed};
  SetStates(frame.env);
  for (size_t i = 0; i < feeds.size(); ++i) {
    SharedTensor value(SharedTensor(), feeds[i]);  // the caller's, for the length of the run
    if (IsLowPrecision(feeds[i]->dtype())) {
      AMPC_ASSIGN_OR_RETURN(HostTensor wide, ToStorage(*feeds[i]));
      value = std::make_shared<const HostTensor>(std::move(wide));
    }
    frame.env.Set(*program.feeds[i], std::move(value));
  }
  AMPC_RETURN_IF_ERROR(RunBlock(program.main(), frame));
  std::vector<HostTensor> out;
  for (const Var* var : program.fetches) {
    AMPC_ASSIGN_OR_RETURN(const SharedTensor value, frame.env.Find(*var));
    if (value == nullptr)
      return UsageError(absl::StrCat("fetch '", var->exported(), "' has no value, because no branch that ran has written it"));
    AMPC_ASSIGN_OR_RETURN(HostTensor t, FromStorage(*value, var->type.dtype));
    out.push_back(std::move(t));
  }
  AMPC_RETURN_IF_ERROR(KeepStates(frame.env));
  return out;
}

int BlockRunner::num_plans() const {
  MutexLock lock(mutex_);
  int n = 0;
  for (const auto& [at, entries] : entries_) n += entries->span->plans.size() + entries->op->plans.size();
  return n;
}

int64_t BlockRunner::arena_bytes() const {
  MutexLock lock(mutex_);
  int64_t bytes = 0;
  for (const auto& [at, entries] : entries_)
    bytes = std::max({bytes, entries->span->plans.arena_bytes(), entries->op->plans.arena_bytes()});
  return bytes;
}

}  // namespace ampc
