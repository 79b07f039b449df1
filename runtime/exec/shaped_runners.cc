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

bool IsLowered(const absl::StatusOr<std::shared_ptr<ProgramRunner>>& runner) { return runner.ok() && !HasOnnxOps((*runner)->program()); }

}  // namespace

bool ShapedRunners::Knows(Known known, const HostTensor& feed) {
  return known == Known::kValues || (known == Known::kSteering && Steers(feed));
}

void ShapedRunners::AppendValues(Known known, absl::Span<const HostTensor* const> feeds, Key* key) {
  for (const HostTensor* feed : feeds) {
    if (Knows(known, *feed)) AppendBytes(*feed, key);
  }
}

// Whoever reads such a feed reads a constant instead.
void ShapedRunners::FixValues(Known known, absl::Span<const HostTensor* const> feeds, Program& program) {
  std::vector<Var*> constants(program.num_var_ids(), nullptr);
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Var& feed = *program.feeds[i];
    if (!Knows(known, *feeds[i]) || feed.type.dtype != feeds[i]->dtype()) continue;
    Var* constant = program.main().AddVar(program.main().UniqueName(feed.name()), VarKind::kConst, feed.type);
    constant->literal = std::make_shared<const HostTensor>(*feeds[i]);
    constants[feed.id()] = constant;
  }
  const int before = static_cast<int>(constants.size());
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      for (size_t i = 0; i < op->inputs().size(); ++i) {
        const int id = op->inputs()[i]->id();
        if (id < before && constants[id] != nullptr) op->ReplaceInput(static_cast<int>(i), constants[id]);
      }
    }
  }
}

absl::StatusOr<std::shared_ptr<ProgramRunner>> ShapedRunners::Get(absl::Span<const HostTensor* const> feeds) {
  Key key;
  for (const HostTensor* feed : feeds) AppendDims(feed->dims(), &key);
  MutexLock lock(mutex_);
  const size_t dims = key.size();
  AppendValues(known_, feeds, &key);
  for (auto it = runners_.begin(); it != runners_.end(); ++it) {
    if (it->first != key) continue;
    runners_.splice(runners_.begin(), runners_, it);
    return runners_.front().second;
  }
  absl::StatusOr<std::shared_ptr<ProgramRunner>> made = Make(feeds, known_);
  const Known most = left_ == Left::kRefused ? Known::kValues : Known::kSteering;
  // A branch that these feeds do not take may not even fit their shapes.
  for (Known known = known_; known != most && ExitCodeOf(made.status()) != ExitCode::kUsage && !IsLowered(made);) {
    known = static_cast<Known>(static_cast<int>(known) + 1);
    absl::StatusOr<std::shared_ptr<ProgramRunner>> more = Make(feeds, known);
    const bool last = left_ == Left::kRefused && known == most;  // its error says most
    if (!IsLowered(more) && !(more.ok() && !made.ok()) && !last) continue;
    made = std::move(more);
    if (!made.ok()) break;
    known_ = known;
    runners_.clear();  // their keys lack the values
    key.resize(dims);
    AppendValues(known, feeds, &key);
  }
  // Without the feeds the program was accepted.
  if (ExitCodeOf(made.status()) == ExitCode::kBadInput)
    return UsageError(absl::StrCat("the feeds do not fit the model: ", made.status().message()));
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<ProgramRunner> runner, std::move(made));
  if (left_ == Left::kRefused && HasOnnxOps(runner->program())) {
    return UnsupportedError(absl::StrCat(LeftUnlowered(runner->program()), ", even with the values of its operands"));
  }
  runners_.emplace_front(std::move(key), runner);
  if (runners_.size() > kMostRunners) runners_.pop_back();
  return runner;
}

absl::StatusOr<std::shared_ptr<ProgramRunner>> ShapedRunners::Make(absl::Span<const HostTensor* const> feeds, Known known) const {
  Program program = program_.Clone();
  for (size_t i = 0; i < feeds.size(); ++i) {
    TensorType& type = program.feeds[i]->type;
    const TensorType given(type.dtype, Dims(feeds[i]->dims().begin(), feeds[i]->dims().end()));
    if (!Compatible(given, type)) {
      return UsageError(absl::StrCat("feed '", program.feeds[i]->name(), "' has dims ", ShapeToString(feeds[i]->dims()),
                                     ", the model needs ", ToString(type)));
    }
    type = given;
  }
  FixValues(known, feeds, program);
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
