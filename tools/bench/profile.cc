#include "tools/bench/profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include "graph/base/status_macros.h"
#include "graph/program.h"
#include "runtime/exec/observer.h"

namespace ampc {
namespace {

using Clock = std::chrono::steady_clock;

class Collector : public StepObserver {
 public:
  absl::Status AfterStep(const ObservedStep& step) override {
    OpShare& share = ops_[{step.op->type(), step.implementation}];
    ++share.steps;
    share.seconds += step.seconds;
    profile_.trace.Add(step);
    return absl::OkStatus();
  }

  Profile Finish(double seconds) {
    profile_.seconds = profile_.between_seconds = seconds;
    for (auto& [key, share] : ops_) {
      std::tie(share.type, share.implementation) = key;
      share.share = share.seconds / seconds;
      profile_.between_seconds -= share.seconds;
      profile_.ops.push_back(share);
    }
    std::stable_sort(profile_.ops.begin(), profile_.ops.end(), [](const OpShare& a, const OpShare& b) { return a.seconds > b.seconds; });
    return std::move(profile_);
  }

 private:
  std::map<std::pair<std::string, std::string>, OpShare> ops_;  // by type and implementation
  Profile profile_;
};

}  // namespace

absl::StatusOr<Profile> ProfileSession(const Session& session, const TensorMap& feeds, int runs) {
  Profile best;
  for (int i = 0; i < runs; ++i) {
    Collector collector;
    const Clock::time_point start = Clock::now();
    AMPC_RETURN_IF_ERROR(session.Run(feeds, collector).status());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (i == 0 || seconds < best.seconds) best = collector.Finish(seconds);
  }
  return best;
}

}  // namespace ampc
