// lr_schedule: the step counter and the learning rate of the next step.
#include "graph/base/status_macros.h"
#include "graph/ops/learning_rate.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {
namespace {

struct Schedule {
  LearningRateRule rule;
  int step = 0, skip = -1, rate = 0;
  int step_out = 0, rate_out = 0;
  bool is_double = false;

  void Run(const KernelArgs& args) const {
    const int64_t before = *static_cast<const int64_t*>(args.inputs[step]);
    const bool skips = skip >= 0 && *static_cast<const bool*>(args.inputs[skip]);
    const double lr = skips ? ReadAsDouble(args.inputs[rate], is_double ? DType::kF64 : DType::kF32) : rule.At(before + 1);
    *static_cast<int64_t*>(args.outputs[step_out]) = skips ? before : before + 1;
    if (is_double) {
      *static_cast<double*>(args.outputs[rate_out]) = lr;
    } else {
      *static_cast<float*>(args.outputs[rate_out]) = static_cast<float>(lr);
    }
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLrSchedule(const KernelSpec& spec) {
  const SpecView view(spec);
  Schedule s{ReadLearningRate(*spec.op),
             view.In("Step"),
             view.In("SkipUpdate"),
             view.In("LearningRate"),
             view.Out("StepOut"),
             view.Out("LearningRateOut"),
             view.InDesc("LearningRate").dtype == DType::kF64};
  AMPC_RETURN_IF_ERROR(s.rule.Check());
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("LearningRate").dtype, {DType::kF32, DType::kF64}));
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("Step").dtype, {DType::kI64}));
  KernelTraits traits;
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [s = std::move(s)](const KernelArgs& args) {
    s.Run(args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterLrSchedule(KernelRegistry* registry) {
  return registry->Add({"lr_schedule", &MakeLrSchedule, {DType::kF32, DType::kF64}});
}

}  // namespace ampc
