#include "passes/analysis/target_support.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/op_registry.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

// The CPU computes low types exactly as "low storage, float32 arithmetic, one rounding", so whatever it executes it
// executes in both of them. CUDA has them natively where the record says so.
class Target : public PrecisionSupport {
 public:
  Target(absl::string_view name, bool is_cuda) : name_(name), is_cuda_(is_cuda) {}

  absl::string_view target() const override { return name_; }

  bool Supports(absl::string_view op, DType compute) const override {
    if (!IsLowPrecision(compute)) return true;
    const OpDef* def = Ops().Find(op);
    if (def == nullptr || def->amp == AmpClass::kNever) return false;
    return (!is_cuda_ || def->low_on_cuda) && SchemaAllows(*def, compute);
  }

 private:
  absl::string_view name_;
  bool is_cuda_;
};

}  // namespace

absl::StatusOr<const PrecisionSupport*> TargetSupport(absl::string_view target) {
  static const Target* const kCuda = new Target("cuda", true);
  static const Target* const kCpu = new Target("cpu", false);
  if (target == "cuda") return kCuda;
  if (target == "cpu") return kCpu;
  return UsageError(absl::StrCat("target '", target, "' is unknown, it is cuda or cpu"));
}

}  // namespace ampc
