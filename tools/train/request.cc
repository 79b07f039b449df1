#include "tools/train/request.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {

absl::StatusOr<GradientClip> ParseClip(const std::string& text) {
  if (text.empty()) return GradientClip();
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  std::vector<double> numbers;
  bool good = true;
  for (absl::string_view number : absl::StrSplit(parts.second, ',')) {
    double value = 0;
    good = good && absl::SimpleAtod(number, &value) && std::isfinite(value);
    numbers.push_back(value);
  }
  if (good && parts.first == "value" && numbers.size() == 2 && numbers[0] < numbers[1]) return GradientClip::Value(numbers[0], numbers[1]);
  if (good && parts.first == "norm" && numbers.size() == 1 && numbers[0] > 0) return GradientClip::Norm(numbers[0]);
  if (good && parts.first == "global-norm" && numbers.size() == 1 && numbers[0] > 0) return GradientClip::GlobalNorm(numbers[0]);
  return UsageError(absl::StrCat("--clip: found '", text, "', needed value:LOW,HIGH, norm:N or global-norm:N with N above 0"));
}

absl::StatusOr<Optimizer> MakeOptimizer(const TrainRequest& request, const NetworkInfo& network) {
  const std::string name = absl::AsciiStrToLower(request.optimizer.empty() ? network.optimizer : request.optimizer);
  LearningRate lr = request.learning_rate.value_or(network.learning_rate);
  if (!request.schedule.empty()) {
    AMPC_ASSIGN_OR_RETURN(lr, LearningRate::Parse(request.schedule));
  }
  AMPC_ASSIGN_OR_RETURN(const GradientClip clip, ParseClip(request.clip));
  const bool mixed = request.level != "O0";
  if (name == "momentum") {
    return Momentum({.lr = lr,
                     .momentum = request.momentum.value_or(0.9),
                     .multi_precision = mixed,
                     .weight_decay = request.weight_decay.value_or(0),
                     .clip = clip});
  }
  if (request.momentum.has_value()) return UsageError(absl::StrCat("--momentum: found optimizer '", name, "', needed momentum"));
  CommonOptimizerOptions options;
  options.lr = lr;
  options.multi_precision = mixed;
  options.weight_decay = request.weight_decay;
  options.clip = clip;
  return OptimizerFromName(name, options);
}

}  // namespace ampc
