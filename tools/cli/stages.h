// The stage of a long command, reported while it runs.
#pragma once

#include <functional>

#include "absl/strings/string_view.h"

namespace ampc {

using StageCallback = std::function<void(absl::string_view stage)>;  // may be null

inline void ReportStage(const StageCallback& report, absl::string_view stage) {
  if (report != nullptr) report(stage);
}

}  // namespace ampc
