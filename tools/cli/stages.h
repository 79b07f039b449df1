// Names of what a command is doing, for whoever waits.
#pragma once

#include <functional>

#include "absl/strings/string_view.h"

namespace ampc {

using StageTeller = std::function<void(absl::string_view stage)>;  // null: nobody waits

inline void TellStage(const StageTeller& tell, absl::string_view stage) {
  if (tell != nullptr) tell(stage);
}

}  // namespace ampc
