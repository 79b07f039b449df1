#include "runtime/exec/model_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "passes/onnx/lower_onnx.h"

namespace ampc {
namespace {

constexpr size_t kMostRunners = 16;
constexpr int64_t kMostIntegers = 1024, kMostFloats = 16;

// True for a value that shapes may depend on.
bool MayGiveShapes(const HostTensor& feed) {
  if (feed.rank() > 1) return false;
  if (feed.dtype() == DType::kF32 || feed.dtype() == DType::kF64) return feed.num_elements() <= kMostFloats;
  return !IsFloat(feed.dtype()) && feed.num_elements() <= kMostIntegers;
}

bool IsLowered(const absl::StatusOr<std::shared_ptr<ProgramRunner>>& runner) {
  return runner.ok() && (*runner)->outcome() != Outcome::kNeedsShapes;
}

// Puts constants in the place of the feeds whose values are known.
void FixValues(absl::Span<const KnownFeed> feeds, Program& program) {
  std::vector<Var*> constants(program.num_var_ids(), nullptr);
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Var& feed = *program.feeds[i];
    if (feeds[i].value == nullptr || feed.type.dtype != feeds[i].value->dtype()) continue;
    Var* constant = program.main().AddVar(program.main().UniqueName(feed.name()), VarKind::kConst, feed.type);
    constant->literal = std::make_shared<const HostTensor>(*feeds[i].value);
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

}  // namespace

ModelRunner::ModelRunner(const RunnerOptions& options, Left left) : options_(options), left_(left), runners_(kMostRunners) {}

absl::StatusOr<std::unique_ptr<ModelRunner>> ModelRunner::Create(Program program, const RunnerOptions& options, Left left) {
  std::unique_ptr<ModelRunner> model(new ModelRunner(options, left));
  if (left == Left::kRefused) {
    model->source_ = std::move(program);
    return model;
  }
  if (HasOnnxOps(program)) model->source_ = program.Clone();
  AMPC_ASSIGN_OR_RETURN(model->unshaped_, ProgramRunner::Create(std::move(program), options));
  if (model->unshaped_->outcome() != Outcome::kNeedsShapes) model->source_.reset();
  return model;
}

absl::StatusOr<std::vector<HostTensor>> ModelRunner::Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<ProgramRunner> runner, RunnerFor(feeds));
  return runner->Run(feeds, observed);
}

absl::Status ModelRunner::RunInto(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<ProgramRunner> runner, RunnerFor(feeds));
  return runner->RunInto(feeds, fetches);
}

absl::StatusOr<std::string> ModelRunner::PlanText(absl::Span<const HostTensor* const> feeds) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<ProgramRunner> runner, RunnerFor(feeds));
  return runner->PlanText(feeds);
}

std::vector<KnownFeed> ModelRunner::Know(Known known, absl::Span<const HostTensor* const> feeds) {
  std::vector<KnownFeed> out;
  for (const HostTensor* feed : feeds) {
    const bool value = known == Known::kValues || (known == Known::kSmallValues && MayGiveShapes(*feed));
    out.push_back({feed->dims(), value ? feed : nullptr});
  }
  return out;
}

ModelRunner::RunnerOr ModelRunner::RunnerFor(absl::Span<const HostTensor* const> feeds) {
  if (!source_.has_value()) return unshaped_;
  MutexLock lock(mutex_);
  if (std::shared_ptr<ProgramRunner> found = runners_.Find(KeyOf(Know(known_, feeds)))) return found;
  RunnerOr made = Climb(feeds);
  // Without the feeds the program was accepted.
  if (ExitCodeOf(made.status()) == ExitCode::kBadInput)
    return UsageError(absl::StrCat("the feeds do not fit the model: ", made.status().message()));
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<ProgramRunner> runner, std::move(made));
  if (left_ == Left::kRefused && !IsLowered(runner)) {
    return UnsupportedError(absl::StrCat(LeftUnlowered(runner->program()), ", even with the values of its operands"));
  }
  runners_.Insert(KeyOf(Know(known_, feeds)), runner);
  return runner;
}

ModelRunner::RunnerOr ModelRunner::Climb(absl::Span<const HostTensor* const> feeds) {
  RunnerOr made = Lower(Know(known_, feeds));
  const Known most = left_ == Left::kRefused ? Known::kValues : Known::kSmallValues;
  // A branch that these feeds do not take may not even fit their shapes.
  for (Known known = known_; known != most && ExitCodeOf(made.status()) != ExitCode::kUsage && !IsLowered(made);) {
    known = static_cast<Known>(static_cast<int>(known) + 1);
    RunnerOr more = Lower(Know(known, feeds));
    const bool last = left_ == Left::kRefused && known == most;  // its error says most
    if (!IsLowered(more) && !(more.ok() && !made.ok()) && !last) continue;
    made = std::move(more);
    if (!made.ok()) break;
    known_ = known;
    runners_.Clear();  // their keys lack the values
  }
  return made;
}

ModelRunner::RunnerOr ModelRunner::Lower(absl::Span<const KnownFeed> feeds) const {
  Program program = source_->Clone();
  for (size_t i = 0; i < feeds.size(); ++i) {
    TensorType& type = program.feeds[i]->type;
    const TensorType given(type.dtype, Dims(feeds[i].dims.begin(), feeds[i].dims.end()));
    if (!Compatible(given, type)) {
      return UsageError(absl::StrCat("feed '", program.feeds[i]->name(), "' has dims ", ShapeToString(feeds[i].dims), ", the model needs ",
                                     ToString(type)));
    }
    type = given;
  }
  FixValues(feeds, program);
  return ProgramRunner::Create(std::move(program), options_);
}

int ModelRunner::num_plans() const {
  MutexLock lock(mutex_);
  int total = unshaped_ == nullptr ? 0 : unshaped_->num_plans();
  for (const auto& [key, runner] : runners_.newest_first()) total += runner->num_plans();
  return total;
}

int64_t ModelRunner::arena_bytes() const {
  MutexLock lock(mutex_);
  if (!runners_.newest_first().empty()) return runners_.newest_first().front().second->arena_bytes();
  return unshaped_ == nullptr ? 0 : unshaped_->arena_bytes();
}

}  // namespace ampc
