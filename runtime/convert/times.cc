#include "runtime/convert/times.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/op_times.h"
#include "runtime/convert/target_numbers.h"

namespace ampc {

absl::StatusOr<std::string> CachedTimes() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const bool has_cache = cache != nullptr && *cache == '/';
  if (!has_cache && (home == nullptr || *home != '/'))
    return UsageError("neither XDG_CACHE_HOME nor HOME is set, so that there is no file of cached times: the name of a file is needed");
  const std::filesystem::path folder = has_cache ? std::filesystem::path(cache) : std::filesystem::path(home) / ".cache";
  return (folder / "ampc" / absl::StrCat("times_", NumbersOfTarget("cpu").name, ".json")).string();
}

absl::Status ResolveTimes(ConvertOptions* options) {
  if (options->profile.empty() || options->times != nullptr) return absl::OkStatus();
  if (options->profile == "cached") {
    AMPC_ASSIGN_OR_RETURN(options->profile, CachedTimes());
  }
  AMPC_ASSIGN_OR_RETURN(OpTimes times, ReadOpTimes(options->profile));
  const absl::string_view device = NumbersOfTarget(options->target).name;
  if (times.device != device) {
    return UsageError(
        absl::StrCat("--profile: '", options->profile, "' has times of ", times.device, ", --target ", options->target, " is ", device));
  }
  options->times = std::make_shared<const OpTimes>(std::move(times));
  return absl::OkStatus();
}

}  // namespace ampc
