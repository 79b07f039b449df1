#include "passes/analysis/target_support.h"

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/device_numbers.h"
#include "graph/op_registry.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

// The CPU computes low types exactly as "low storage, float32 arithmetic, one rounding", so whatever it executes it
// executes in both of them. CUDA has them natively where the record says so.
class Target : public PrecisionSupport {
 public:
  Target(std::string name, bool is_cuda) : name_(std::move(name)), is_cuda_(is_cuda) {}

  absl::string_view target() const override { return name_; }

  bool Supports(absl::string_view op, DType compute) const override {
    if (!IsLowPrecision(compute)) return true;
    const OpDef* def = Ops().Find(op);
    if (def == nullptr || def->amp == AmpClass::kNever) return false;
    return (!is_cuda_ || def->low_on_cuda) && SchemaAllows(*def, compute);
  }

 private:
  std::string name_;
  bool is_cuda_;
};

}  // namespace

std::vector<std::string> TargetNames() {
  std::vector<std::string> names = {"cuda", "cpu"};
  for (const DeviceNumbers& device : AllDeviceNumbers()) {
    if (absl::StartsWith(device.name, "cuda:")) names.emplace_back(device.name);
  }
  return names;
}

absl::StatusOr<const PrecisionSupport*> TargetSupport(absl::string_view target) {
  static const auto* const kTargets = new std::vector<std::unique_ptr<Target>>([] {
    std::vector<std::unique_ptr<Target>> targets;
    for (const std::string& name : TargetNames()) targets.push_back(std::make_unique<Target>(name, name != "cpu"));
    return targets;
  }());
  for (const std::unique_ptr<Target>& known : *kTargets) {
    if (known->target() == target) return known.get();
  }
  return UsageError(absl::StrCat("target '", target, "' is unknown, it is one of ", absl::StrJoin(TargetNames(), ", ")));
}

}  // namespace ampc
