// Names of what a command is doing, for whoever waits.
#pragma once

#include <functional>

#include "absl/strings/string_view.h"
#include "passes/pipeline.h"

namespace ampc {

using StageTeller = std::function<void(absl::string_view stage)>;  // null: nobody waits

inline void TellStage(const StageTeller& tell, absl::string_view stage) {
  if (tell != nullptr) tell(stage);
}

// Tells the first pass of `pipeline`, and returns options that tell each other one before it runs.
PipelineOptions TellPasses(const Pipeline& pipeline, const StageTeller& tell);

}  // namespace ampc
