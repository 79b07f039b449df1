#include "runtime/exec/shaped_runners.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "passes/onnx/lower_onnx.h"
#include "runtime/exec/plan_cache.h"

namespace ampc {
namespace {

constexpr size_t kMostRunners = 16;

}  // namespace

absl::StatusOr<std::shared_ptr<ProgramRunner>> ShapedRunners::Get(absl::Span<const HostTensor* const> feeds) {
  Key key;
  for (const HostTensor* feed : feeds) AppendDims(feed->dims(), &key);
  absl::MutexLock lock(&mutex_);
  for (auto it = runners_.begin(); it != runners_.end(); ++it) {
    if (it->first != key) continue;
    runners_.splice(runners_.begin(), runners_, it);
    return runners_.front().second;
  }
  Program program = program_.Clone();
  for (size_t i = 0; i < feeds.size(); ++i) {
    TensorType& type = program.feeds[i]->type;
    const TensorType given(type.dtype, Dims(feeds[i]->dims().begin(), feeds[i]->dims().end()));
    if (!Compatible(given, type)) {
      return UsageError(absl::StrCat("feed '", program.feeds[i]->name(), "' has dims ", ShapeToString(feeds[i]->dims()), ", the model needs ", ToString(type)));
    }
    type = given;
  }
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<ProgramRunner> runner, ProgramRunner::Create(std::move(program), options_));
  const std::string left = LeftUnlowered(runner->program());
  if (!left.empty()) return UnsupportedError(absl::StrCat(left, ", even with the shapes of the feeds"));
  runners_.emplace_front(std::move(key), runner);
  if (runners_.size() > kMostRunners) runners_.pop_back();
  return runner;
}

int ShapedRunners::num_plans() const {
  absl::MutexLock lock(&mutex_);
  int total = 0;
  for (const auto& [key, runner] : runners_) total += runner->num_plans();
  return total;
}

int64_t ShapedRunners::arena_bytes() const {
  absl::MutexLock lock(&mutex_);
  return runners_.empty() ? 0 : runners_.front().second->arena_bytes();
}

}  // namespace ampc
