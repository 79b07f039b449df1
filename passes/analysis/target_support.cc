#include "passes/analysis/target_support.h"

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/device_numbers.h"
#include "graph/op_registry.h"
#include "passes/analysis/runtimes.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

// The CPU computes low types exactly as "low storage, float32 arithmetic, one rounding", so whatever it executes it
// executes in both of them. CUDA has them natively where the record says so.
class Target : public PrecisionSupport {
 public:
  Target(std::string name, const Runtime& runtime) : name_(std::move(name)), runtime_(runtime) {}

  absl::string_view target() const override { return name_; }
  absl::string_view runtime() const { return runtime_.name; }

  bool Supports(absl::string_view op, DType compute) const override {
    const OpDef* def = Ops().Find(op);
    return !IsLowPrecision(compute) || (def != nullptr && HasType(*def, compute) && WhyNotLow(runtime_, *def, compute).empty());
  }
  std::string WhyNot(absl::string_view op, DType compute) const override {
    const OpDef* def = Ops().Find(op);
    return def != nullptr && def->amp != AmpClass::kNever ? WhyNotLow(runtime_, *def, compute) : "";
  }

 private:
  // The records say what Paddle's kernels compute low on CUDA, which are ampc's, too; other runtimes have tables.
  bool HasType(const OpDef& def, DType low) const {
    const bool tables = !runtime_.format.empty() && runtime_.format != "paddle";
    return def.amp != AmpClass::kNever && (name_ == "cpu" || tables || def.low_on_cuda) && SchemaAllows(def, low);
  }

  std::string name_;
  const Runtime& runtime_;
};

}  // namespace

std::vector<std::string> TargetNames() {
  std::vector<std::string> names = {"cuda", "cpu"};
  for (const DeviceNumbers& device : AllDeviceNumbers()) {
    if (absl::StartsWith(device.name, "cuda:")) names.emplace_back(device.name);
  }
  return names;
}

absl::StatusOr<const PrecisionSupport*> TargetSupport(absl::string_view target, absl::string_view runtime) {
  static const auto* const kTargets = new std::vector<std::unique_ptr<Target>>([] {
    std::vector<std::unique_ptr<Target>> targets;
    for (const std::string& name : TargetNames()) {
      for (const Runtime& each : AllRuntimes()) targets.push_back(std::make_unique<Target>(name, each));
    }
    return targets;
  }());
  for (const std::unique_ptr<Target>& known : *kTargets) {
    if (known->target() == target && known->runtime() == runtime) return known.get();
  }
  if (FindRuntime(runtime) == nullptr) {
    return UsageError(absl::StrCat("runtime '", runtime, "' is unknown, it is one of ", absl::StrJoin(RuntimeNames(), ", ")));
  }
  return UsageError(absl::StrCat("target '", target, "' is unknown, it is one of ", absl::StrJoin(TargetNames(), ", ")));
}

}  // namespace ampc
