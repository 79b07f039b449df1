#include "tools/cli/stages.h"

#include <string>
#include <vector>

namespace ampc {

PipelineOptions TellPasses(const Pipeline& pipeline, const StageTeller& tell) {
  PipelineOptions options;
  if (tell == nullptr || pipeline.steps().empty()) return options;
  tell(pipeline.steps()[0].pass);
  std::vector<std::string> names;
  for (const PipelineStep& step : pipeline.steps()) names.push_back(step.pass);
  options.after = [names, tell](const PipelineStep&, int index, const Program&, bool, double) {
    const auto next = static_cast<size_t>(index) + 1;
    if (next < names.size()) tell(names[next]);
  };
  return options;
}

}  // namespace ampc
