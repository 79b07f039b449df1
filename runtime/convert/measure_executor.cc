#include "runtime/convert/measure_executor.h"

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "runtime/exec/observer.h"
#include "runtime/feeds.h"
#include "runtime/session.h"

namespace ampc {
namespace {

// Storage of float values during a run is f32, whatever their type.
class ValueObserver : public StepObserver {
 public:
  explicit ValueObserver(const ProgramExecutor::OnValue& on_value) : on_value_(on_value) {}
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) {
      if (StorageType(v.desc.dtype) != DType::kF32 || v.data == nullptr) continue;
      on_value_(v.var->exported(), absl::MakeConstSpan(static_cast<const float*>(v.data), static_cast<size_t>(v.desc.NumElements())));
    }
    return absl::OkStatus();
  }

 private:
  const ProgramExecutor::OnValue& on_value_;
};

}  // namespace

absl::Status MeasureExecutor::Run(const Program& program, const std::vector<std::string>& inputs, const OnValue& on_value) const {
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(program.Clone(), {.strict_rounding = true}));
  for (const std::string& input : inputs) {
    const absl::StatusOr<TensorMap> feeds = ReadFeeds({input}, session.inputs());
    if (!feeds.ok()) return Annotate(feeds.status(), "--calibrate");
    for (const auto& [name, tensor] : *feeds) {
      if (tensor.dtype() == DType::kF32) on_value(name, tensor.values<float>());
    }
    ValueObserver observer(on_value);
    const absl::StatusOr<TensorMap> fetches = session.Run(*feeds, observer);
    if (!fetches.ok()) return Annotate(fetches.status(), input);
  }
  return absl::OkStatus();
}

}  // namespace ampc
