#include "runtime/plan/build_plan.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/lib/cpu_numbers.h"
#include "runtime/plan/host_fallback.h"
#include "runtime/plan/layout_plan.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/move_kernels.h"
#include "runtime/plan/storage_plan.h"

namespace ampc {
namespace {

constexpr int kNeverDies = std::numeric_limits<int>::max() / 2;

// Of steps that no op asked for.
const OpInstance kNoOp;

// Ops of one list of operands and one of results, where result i may lie where operand i did.
bool ComputesInPairs(const Op& op) { return op.type() == "check_finite_and_unscale" || op.type() == "update_loss_scaling"; }

// Time is the index of an op in Specialized::ops. A buffer is a live range; a value has a buffer, or an address outside the arena.
class PlanBuilder {
 public:
  PlanBuilder(const PlanContext& context, Specialized specialized) : context_(context), plan_(std::make_unique<ExecutionPlan>()) {
    plan_->specialized = std::move(specialized);
    plan_->threads = context.threads;
    if (context.target != nullptr) plan_->target = *context.target;
  }

  absl::StatusOr<std::unique_ptr<const ExecutionPlan>> Build() {
    values_.resize(s().descs.size());
    FindLastUses();
    PlaceFeedsAndConstants();
    PlaceStates();
    for (size_t i = 0; i < s().ops.size(); ++i) AMPC_RETURN_IF_ERROR(AddStep(s().ops[i], static_cast<int>(i)));
    for (ValueId v : s().fetches) plan_->fetches.push_back(ValueAddress(v));
    AssignOffsets();
    if (on_device()) DescribeLargest();
    return std::move(plan_);
  }

 private:
  struct ValueState {
    int last_use = -1;
    int buffer = -1;
    Address outside;                       // kConstant, kFeed or kState when buffer is -1
    const HostTensor* constant = nullptr;  // kConstant: the value, on the host
    int overwritten = kNeverDies;          // kState: the op that puts another value there
  };

  const Specialized& s() const { return plan_->specialized; }
  bool on_device() const { return context_.target != nullptr; }
  int64_t BytesOf(ValueId v) const { return plan_->BytesOf(s().descs[v]); }
  size_t ElementBytes(ValueId v) const { return SizeOf(on_device() ? s().descs[v].dtype : s().descs[v].storage()); }

  void FindLastUses() {
    for (size_t i = 0; i < s().ops.size(); ++i) {
      for (ValueId v : s().ops[i].inputs) values_[v].last_use = static_cast<int>(i);
    }
    for (ValueId v : s().fetches) values_[v].last_use = kNeverDies;
  }

  void PlaceFeedsAndConstants() {
    for (size_t v = 0; v < values_.size(); ++v) {
      if (s().values[v] == nullptr) continue;
      values_[v].outside.kind = Address::kConstant;
      values_[v].outside.constant = s().values[v]->data();
      values_[v].constant = s().values[v];
    }
    const OpRange& range = s().range;
    for (size_t i = 0; i < range.feeds.size(); ++i) {
      const ValueId v = range.feeds[i]->id();
      ValueState& value = values_[v];
      const TensorDesc& desc = s().descs[v];
      if (s().values[v] != nullptr) continue;
      if (on_device() ? value.last_use >= 0 : IsLowPrecision(desc.dtype) && !range.inner) {
        value.buffer = NewBuffer(BytesOf(v), 0, std::max(0, value.last_use));
        plan_->feed_copies.push_back({static_cast<int>(i), BufferAddress(value.buffer)});
      } else {
        value.outside.kind = Address::kFeed;
        value.outside.feed = static_cast<int>(i);
      }
    }
  }

  void PlaceStates() {
    absl::flat_hash_map<const HostTensor*, ValueId> newest;
    for (size_t v = 0; v < s().states.size(); ++v) {
      HostTensor* state = s().states[v];
      if (state == nullptr) continue;
      values_[v].outside.kind = Address::kState;
      values_[v].outside.state = on_device() ? context_.states->DeviceMemory(state) : state->mutable_data();
      newest.emplace(state, static_cast<ValueId>(v));  // the version that a run begins with comes first
    }
    for (size_t i = 0; i < s().ops.size(); ++i) {
      for (ValueId v : s().ops[i].outputs) {
        if (s().StateOf(v) == nullptr) continue;
        ValueId& previous = newest[s().StateOf(v)];
        values_[previous].overwritten = static_cast<int>(i);
        previous = v;
      }
    }
  }

  int NewBuffer(int64_t bytes, int first, int last) {
    ranges_.push_back({bytes, first, last});
    return static_cast<int>(ranges_.size()) - 1;
  }

  // Until AssignOffsets, an arena address holds its buffer's index in `offset`.
  static Address BufferAddress(int buffer) {
    Address address;
    address.kind = Address::kArena;
    address.offset = buffer;
    return address;
  }

  Address ValueAddress(ValueId v) const { return values_[v].buffer >= 0 ? BufferAddress(values_[v].buffer) : values_[v].outside; }

  absl::StatusOr<std::unique_ptr<Kernel>> Bind(const OpInstance& op) {
    if (op.op == nullptr) return MakeLayoutConversion(context_.target, s().descs[op.inputs[0]], s().descs[op.outputs[0]]);
    KernelSpec spec = SpecOf(op, s(), context_);
    if (on_device()) return MakeKernelFor(*context_.target, context_.kernels, spec);
    const KernelEntry* entry = context_.kernels.Find(op.op->type());
    if (entry == nullptr) return NoKernel(*op.op);
    AMPC_ASSIGN_OR_RETURN(auto read, ReadInStorage(context_, &spec));
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, MakeKernel(*entry, spec));
    for (size_t i = 0; i < read.size(); ++i) {
      if (read[i] == nullptr || kernel->consumes(static_cast<int>(i))) continue;
      values_[op.inputs[i]].outside.constant = read[i]->data();
      plan_->widened.push_back(std::move(read[i]));
    }
    return kernel;
  }

  // The memory in which the kernel finds an operand: constants are uploaded unless the kernel has what it needs of them.
  absl::StatusOr<Address> OperandAddress(const OpInstance& op, const Kernel& kernel, int input) {
    const ValueId v = op.inputs[input];
    Address address = ValueAddress(v);
    if (!on_device() || address.kind != Address::kConstant) return address;
    address.constant = nullptr;
    if (kernel.consumes(input)) return address;
    const std::string what = absl::StrCat("constant '", op.op == nullptr ? "" : op.op->inputs()[input]->name(), "'");
    AMPC_ASSIGN_OR_RETURN(DeviceConstants::Buffer buffer, context_.target->constants->Get(*values_[v].constant, s().descs[v].dtype, what));
    address.constant = buffer->data();
    plan_->constants.push_back(std::move(buffer));
    return address;
  }

  absl::Status AddStep(const OpInstance& op, int now) {
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, Bind(op));
    if (const int input = kernel->alias_input(); input >= 0 && IsAlias(op)) {
      if (MayShare(op.outputs[0], op.inputs[input])) {
        ShareBuffer(op.outputs[0], op.inputs[input]);
        return absl::OkStatus();
      }
      kernel = MakeCopy(input, BytesOf(op.outputs[0]));
    }
    Step step;
    step.instance = &op;
    step.first = static_cast<int>(plan_->operands.size());
    step.inputs = static_cast<int>(op.inputs.size());
    step.outputs = static_cast<int>(op.outputs.size());
    for (int i = 0; i < step.inputs; ++i) {
      AMPC_ASSIGN_OR_RETURN(Address address, OperandAddress(op, *kernel, i));
      plan_->operands.push_back(address);
    }
    const Address temporary = NeedsTemporary(op, *kernel) ? BufferAddress(NewBuffer(BytesOf(op.outputs[0]), now, now)) : Address();
    FindReadTwice(op);
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const ValueId v = op.outputs[i];
      PlaceResult(op, *kernel, static_cast<int>(i), now);
      plan_->operands.push_back(temporary.kind != Address::kNone ? temporary : ValueAddress(v));
      if (!on_device() && Rounds(v) && !kernel->rounds_results()) {
        step.roundings.push_back({static_cast<int>(i), s().descs[v].NumElements(), s().descs[v].dtype});
      }
    }
    if (kernel->workspace_bytes() > 0) step.workspace = BufferAddress(NewBuffer(kernel->workspace_bytes(), now, now));
    step.bytes_through_host = BytesThroughHost(*kernel);
    step.kernel = std::move(kernel);
    plan_->steps.push_back(std::move(step));
    if (temporary.kind != Address::kNone) AddCopy(temporary, op.outputs[0]);
    return absl::OkStatus();
  }

  // Whether the value is rounded to its declared type when it is computed. A fetch of a whole program is when it is copied.
  bool Rounds(ValueId v) const {
    if (!IsLowPrecision(s().descs[v].dtype) || s().descs[v].half) return false;
    if (!context_.excess_precision || s().StateOf(v) != nullptr) return true;
    return s().range.inner && values_[v].last_use == kNeverDies;
  }

  void AddCopy(const Address& from, ValueId to) {
    Step step;
    step.instance = &kNoOp;
    step.first = static_cast<int>(plan_->operands.size());
    step.inputs = 1;
    step.outputs = 1;
    plan_->operands.push_back(from);
    plan_->operands.push_back(ValueAddress(to));
    step.kernel = MakeCopy(0, BytesOf(to));
    plan_->steps.push_back(std::move(step));
  }

  void PlaceResult(const OpInstance& op, const Kernel& kernel, int result, int now) {
    const ValueId v = op.outputs[result];
    if (values_[v].outside.kind == Address::kState) return;
    const int reused = ReusableInput(op, kernel, result, now);
    if (reused >= 0) return ShareBuffer(v, op.inputs[reused]);
    values_[v].buffer = NewBuffer(BytesOf(v), now, std::max(now, values_[v].last_use));
  }

  // A state has memory of its own; and a value may lie where a state does only while that is not overwritten.
  bool MayShare(ValueId result, ValueId input) const {
    const int overwritten = values_[input].overwritten;
    return values_[result].outside.kind != Address::kState && (overwritten == kNeverDies || values_[result].last_use < overwritten);
  }

  // The one result overwrites a state that the kernel reads in another way than element by element.
  bool NeedsTemporary(const OpInstance& op, const Kernel& kernel) const {
    if (op.outputs.size() != 1 || values_[op.outputs[0]].outside.kind != Address::kState) return false;
    const void* state = values_[op.outputs[0]].outside.state;
    const int in_place = kernel.in_place_input();
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueState& input = values_[op.inputs[i]];
      if (input.buffer >= 0 || input.outside.kind != Address::kState || input.outside.state != state) continue;
      if (in_place < 0 || op.inputs[i] != op.inputs[in_place]) return true;
    }
    return false;
  }

  // Results behind the first one (Paddle's XShape) are bookkeeping that no op reads.
  bool IsAlias(const OpInstance& op) const {
    return std::all_of(op.outputs.begin() + 1, op.outputs.end(), [this](ValueId v) { return values_[v].last_use < 0; });
  }

  void ShareBuffer(ValueId result, ValueId input) {
    const int last_use = values_[result].last_use;
    values_[result].buffer = values_[input].buffer;
    values_[result].outside = values_[input].outside;
    values_[result].constant = values_[input].constant;
    values_[result].overwritten = values_[input].overwritten;
    if (values_[input].buffer >= 0) {
      LiveRange& range = ranges_[values_[input].buffer];
      range.last = std::max(range.last, last_use);
    }
  }

  // The input whose buffer the kernel may overwrite with a result: it dies here, and no other operand shares it.
  int ReusableInput(const OpInstance& op, const Kernel& kernel, int result, int now) const {
    if (op.op != nullptr && ComputesInPairs(*op.op)) {
      const bool paired = result < static_cast<int>(std::min(op.op->inputs(0).size(), op.op->outputs(0).size())) &&
                          !read_twice_.contains(values_[op.inputs[result]].buffer);
      return paired && MayOverwrite(op.inputs[result], op.outputs[result], now) ? result : -1;
    }
    const int i = result == 0 && context_.in_place ? kernel.in_place_input() : -1;
    if (i < 0 || !MayOverwrite(op.inputs[i], op.outputs[0], now)) return -1;
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] != op.inputs[i] && values_[op.inputs[k]].buffer == values_[op.inputs[i]].buffer) return -1;
    }
    return i;
  }

  bool MayOverwrite(ValueId input, ValueId result, int now) const {
    const int buffer = values_[input].buffer;
    // Elements of another width would overwrite some that other threads have not read yet.
    if (ElementBytes(input) != ElementBytes(result)) return false;
    return buffer >= 0 && ranges_[buffer].last == now && ranges_[buffer].bytes >= BytesOf(result);
  }

  void FindReadTwice(const OpInstance& op) {
    read_twice_.clear();
    if (op.op == nullptr || !ComputesInPairs(*op.op)) return;
    absl::flat_hash_set<int> seen;
    for (ValueId v : op.inputs) {
      if (!seen.insert(values_[v].buffer).second) read_twice_.insert(values_[v].buffer);
    }
  }

  // A buffer that is exactly a fetch as it is handed over needs no place in the arena. {buffer, fetch}
  absl::flat_hash_map<int, int> FetchedBuffers() const {
    absl::flat_hash_map<int, int> fetched;
    if (on_device()) return fetched;
    for (size_t i = 0; i < s().fetches.size(); ++i) {
      const ValueId v = s().fetches[i];
      const TensorDesc& desc = s().descs[v];
      const int buffer = values_[v].buffer;
      if (buffer < 0 || ranges_[buffer].bytes != BytesOf(v) || BytesOf(v) == 0) continue;
      // Else the value is rounded, or widened, on its way out or in.
      if (IsLowPrecision(desc.dtype) && (!desc.half || s().range.inner)) continue;
      fetched.emplace(buffer, static_cast<int>(i));
    }
    for (const FeedCopy& copy : plan_->feed_copies) fetched.erase(static_cast<int>(copy.to.offset));
    return fetched;
  }

  void AssignOffsets() {
    const absl::flat_hash_map<int, int> fetched = FetchedBuffers();
    for (const auto& [buffer, fetch] : fetched) ranges_[buffer].bytes = 0;
    const MemoryPlan memory = PlanMemory(ranges_);
    plan_->arena_bytes = memory.arena_bytes;
    const auto resolve = [&](Address& address) {
      if (address.kind != Address::kArena) return;
      if (const auto it = fetched.find(static_cast<int>(address.offset)); it != fetched.end()) {
        address = {};
        address.kind = Address::kFetch;
        address.fetch = it->second;
        return;
      }
      address.bytes = ranges_[address.offset].bytes;
      address.offset = memory.offsets[address.offset];
    };
    for (Address& address : plan_->operands) resolve(address);
    for (Address& address : plan_->fetches) resolve(address);
    for (FeedCopy& copy : plan_->feed_copies) resolve(copy.to);
    for (Step& step : plan_->steps) resolve(step.workspace);
  }

  void DescribeLargest() {
    constexpr size_t kShown = 5;
    std::vector<std::pair<int64_t, const Var*>> sizes;
    for (const OpInstance& op : s().ops) {
      if (op.op == nullptr) continue;
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        if (values_[op.outputs[i]].buffer >= 0) sizes.emplace_back(BytesOf(op.outputs[i]), op.op->outputs()[i]);
      }
    }
    std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (size_t i = 0; i < std::min(kShown, sizes.size()); ++i) {
      const Var& var = *sizes[i].second;
      absl::StrAppend(&plan_->largest, i > 0 ? ", " : "", "'", var.name(), "' (", Name(var.type.dtype), ", ", sizes[i].first, " bytes)");
    }
  }

  const PlanContext& context_;
  std::unique_ptr<ExecutionPlan> plan_;
  std::vector<ValueState> values_;       // by ValueId
  std::vector<LiveRange> ranges_;        // by buffer
  absl::flat_hash_set<int> read_twice_;  // buffers that several operands of the present op lie in
};

}  // namespace

absl::StatusOr<std::unique_ptr<const ExecutionPlan>> BuildPlan(const PlanContext& context, OpRange range,
                                                               absl::Span<const KnownFeed> feeds) {
  AMPC_ASSIGN_OR_RETURN(Specialized specialized, Specialize(context, std::move(range), feeds));
  if (specialized.outcome != Outcome::kPlan && !specialized.range.inner) {
    auto nothing = std::make_unique<ExecutionPlan>();
    nothing->specialized = std::move(specialized);
    return nothing;
  }
  AMPC_RETURN_IF_ERROR(AssignLayouts(context, specialized));
  AMPC_RETURN_IF_ERROR(AssignStorage(context, onednn::CpuNumbers(), specialized));
  return PlanBuilder(context, std::move(specialized)).Build();
}

}  // namespace ampc
