#include "tools/cli/calibrate.h"

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "runtime/exec/observer.h"
#include "runtime/session.h"
#include "tools/cli/tensors.h"

namespace ampc {
namespace {

// Storage of float values during a run is f32, whatever their type.
class RangeObserver : public StepObserver {
 public:
  explicit RangeObserver(Ranges* ranges) : ranges_(ranges) {}
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) {
      if (StorageType(v.desc.dtype) != DType::kF32 || v.data == nullptr) continue;
      (*ranges_)[v.var->exported()].Add(absl::MakeConstSpan(static_cast<const float*>(v.data), static_cast<size_t>(v.desc.NumElements())));
    }
    return absl::OkStatus();
  }

 private:
  Ranges* ranges_;
};

}  // namespace

absl::StatusOr<Ranges> MeasureRanges(const Program& program, const std::vector<std::string>& sources) {
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(program.Clone(), {.strict_rounding = true}));
  Ranges ranges;
  for (const std::string& source : sources) {
    const absl::StatusOr<TensorMap> feeds = ReadFeeds({source}, session.inputs());
    if (!feeds.ok()) return Annotate(feeds.status(), "--calibrate");
    for (const auto& [name, tensor] : *feeds) {
      if (tensor.dtype() == DType::kF32) ranges[name].Add(tensor.values<float>());
    }
    RangeObserver observer(&ranges);
    const absl::StatusOr<TensorMap> fetches = session.Run(*feeds, observer);
    if (!fetches.ok()) return Annotate(fetches.status(), source);
  }
  return ranges;
}

}  // namespace ampc
