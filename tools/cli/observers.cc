#include "tools/cli/observers.h"

#include "absl/strings/str_cat.h"
#include "runtime/exec/check_finite.h"

namespace ampc {

absl::Status RunObserver::AfterStep(const ObservedStep& step) {
  if (options_.verbose) {
    console_.Note(absl::StrCat(step.index, "  ", step.op->type(), "  ", DeviceText(step), "  ", step.implementation, "  ",
                               ResultTypes(step), "  ", HumanSeconds(step.seconds)));
  }
  if (options_.trace) trace_.Add(step);
  return options_.check_nan_inf ? CheckFinite(step) : absl::OkStatus();
}

}  // namespace ampc
