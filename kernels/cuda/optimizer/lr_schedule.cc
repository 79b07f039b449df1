// lr_schedule for a device.
#include "kernels/cuda/optimizer/lr_schedule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/ops/learning_rate.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace ampc::cuda {
namespace {

DeviceLearningRate OnDevice(const LearningRateRule& rule) {
  DeviceLearningRate to;
  to.kind = rule.Kind();
  to.base = rule.base;
  to.pieces = static_cast<int64_t>(rule.boundaries.size());
  std::copy(rule.boundaries.begin(), rule.boundaries.end(), to.boundaries.items);
  std::copy(rule.values.begin(), rule.values.end(), to.values.items);
  to.steps = rule.steps;
  to.least = rule.least;
  to.warm_up_steps = rule.warm_up_steps;
  to.warm_up_from = rule.warm_up_from;
  to.warm_up_to = rule.warm_up_to;
  return to;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLrSchedule(const KernelSpec& spec) {
  const SpecView view(spec);
  const LearningRateRule rule = ReadLearningRate(*spec.op);
  AMPC_RETURN_IF_ERROR(rule.Check());
  const DType type = view.InDesc("LearningRate").dtype;
  if (type != DType::kF32 && type != DType::kF64) return view.Unsupported("the device's kernel takes a rate of f32 or f64");
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("Step").dtype, {DType::kI64}));
  if (rule.boundaries.size() > kMostBoundaries || rule.values.size() > kMostBoundaries + 1)
    return view.Unsupported(absl::StrCat("the device's kernel takes at most ", kMostBoundaries, " boundaries"));
  LrScheduleParams p;
  p.rule = OnDevice(rule);
  p.is_double = type == DType::kF64;
  KernelTraits traits;
  traits.implementation = "cuda:lr_schedule";
  return MakeDeviceKernel(std::move(traits),
                          [p, step = view.In("Step"), skip = view.In("SkipUpdate"), rate = view.In("LearningRate"),
                           step_out = view.Out("StepOut"), rate_out = view.Out("LearningRateOut")](const KernelArgs& args, void* stream) {
                            LrScheduleParams now = p;
                            now.step = static_cast<const int64_t*>(args.inputs[step]);
                            now.skip = skip < 0 ? nullptr : static_cast<const bool*>(args.inputs[skip]);
                            now.rate = args.inputs[rate];
                            now.step_out = static_cast<int64_t*>(args.outputs[step_out]);
                            now.rate_out = args.outputs[rate_out];
                            return LaunchLrSchedule(stream, now);
                          });
}

}  // namespace

absl::Status RegisterLrSchedule(KernelRegistry* registry) {
  return registry->Add({"lr_schedule", &MakeLrSchedule, {DType::kF32, DType::kF64}});
}

}  // namespace ampc::cuda
