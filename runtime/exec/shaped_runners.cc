#include "runtime/exec/shaped_runners.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "passes/onnx/lower_onnx.h"
#include "runtime/exec/plan_cache.h"

namespace ampc {
namespace {

constexpr size_t kMostRunners = 16;
constexpr int64_t kMostIntegers = 1024, kMostFloats = 16;

// What shapes may depend on.
bool Steers(const HostTensor& feed) {
  if (feed.rank() > 1) return false;
  if (feed.dtype() == DType::kF32 || feed.dtype() == DType::kF64) return feed.num_elements() <= kMostFloats;
  return !IsFloat(feed.dtype()) && feed.num_elements() <= kMostIntegers;
}

void AppendValues(absl::Span<const HostTensor* const> feeds, std::vector<int64_t>* key) {
  for (const HostTensor* feed : feeds) {
    if (!Steers(*feed)) continue;
    for (std::byte b : feed->bytes()) key->push_back(static_cast<int64_t>(b));
  }
}

// Whoever reads such a feed reads a constant instead.
void FixValues(absl::Span<const HostTensor* const> feeds, Program& program) {
  std::vector<Var*> constants(program.num_var_ids(), nullptr);
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Var& feed = *program.feeds[i];
    if (!Steers(*feeds[i]) || feed.type.dtype != feeds[i]->dtype()) continue;
    Var* constant = program.main().AddVar(program.main().UniqueName(feed.name()), VarKind::kConst, feed.type);
    constant->literal = std::make_shared<const HostTensor>(*feeds[i]);
    constants[feed.id()] = constant;
  }
  const int known = static_cast<int>(constants.size());
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      for (size_t i = 0; i < op->inputs().size(); ++i) {
        const int id = op->inputs()[i]->id();
        if (id < known && constants[id] != nullptr) op->ReplaceInput(static_cast<int>(i), constants[id]);
      }
    }
  }
}

bool IsLowered(const absl::StatusOr<std::shared_ptr<ProgramRunner>>& runner) { return runner.ok() && !HasOnnxOps((*runner)->program()); }

}  // namespace

absl::StatusOr<std::shared_ptr<ProgramRunner>> ShapedRunners::Get(absl::Span<const HostTensor* const> feeds) {
  Key key;
  for (const HostTensor* feed : feeds) AppendDims(feed->dims(), &key);
  MutexLock lock(mutex_);
  if (by_value_) AppendValues(feeds, &key);
  for (auto it = runners_.begin(); it != runners_.end(); ++it) {
    if (it->first != key) continue;
    runners_.splice(runners_.begin(), runners_, it);
    return runners_.front().second;
  }
  absl::StatusOr<std::shared_ptr<ProgramRunner>> made = Make(feeds, by_value_);
  // A branch that these feeds do not take may not even fit their shapes.
  if (!by_value_ && ExitCodeOf(made.status()) != ExitCode::kUsage && !IsLowered(made)) {
    made = Make(feeds, true);
    if (IsLowered(made)) {
      by_value_ = true;
      runners_.clear();  // their keys lack the values
      AppendValues(feeds, &key);
    }
  }
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<ProgramRunner> runner, std::move(made));
  if (HasOnnxOps(runner->program())) return UnsupportedError(absl::StrCat(LeftUnlowered(runner->program()), ", even with the shapes of the feeds"));
  runners_.emplace_front(std::move(key), runner);
  if (runners_.size() > kMostRunners) runners_.pop_back();
  return runner;
}

absl::StatusOr<std::shared_ptr<ProgramRunner>> ShapedRunners::Make(absl::Span<const HostTensor* const> feeds, bool by_value) const {
  Program program = program_.Clone();
  for (size_t i = 0; i < feeds.size(); ++i) {
    TensorType& type = program.feeds[i]->type;
    const TensorType given(type.dtype, Dims(feeds[i]->dims().begin(), feeds[i]->dims().end()));
    if (!Compatible(given, type)) {
      return UsageError(absl::StrCat("feed '", program.feeds[i]->name(), "' has dims ", ShapeToString(feeds[i]->dims()), ", the model needs ", ToString(type)));
    }
    type = given;
  }
  if (by_value) FixValues(feeds, program);
  return ProgramRunner::Create(std::move(program), options_);
}

int ShapedRunners::num_plans() const {
  MutexLock lock(mutex_);
  int total = 0;
  for (const auto& [key, runner] : runners_) total += runner->num_plans();
  return total;
}

int64_t ShapedRunners::arena_bytes() const {
  MutexLock lock(mutex_);
  return runners_.empty() ? 0 : runners_.front().second->arena_bytes();
}

}  // namespace ampc
