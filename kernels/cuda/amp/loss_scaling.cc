// check_finite_and_unscale and update_loss_scaling for a device: the rule is that of kernels/cpu/amp/loss_scaling.cc.
#include "kernels/cuda/amp/loss_scaling.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "kernels/spec/optimizer/loss_scaling_spec.h"

namespace ampc::cuda {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MakeUnscale(const KernelSpec& spec) {
  const SpecView view(spec);
  KernelTraits traits;
  traits.implementation = "cuda:unscale";
  traits.workspace_bytes = sizeof(double);
  AMPC_ASSIGN_OR_RETURN(ScaledGradients g, ReadScaledGradients(view));
  traits.in_place_input = g.in_place_input();
  const DType scale_type = view.InDesc("Scale").dtype;
  if (scale_type != DType::kF32 && scale_type != DType::kF64) return view.Unsupported("the device's kernel takes a Scale of f32 or f64");
  return MakeDeviceKernel(std::move(traits), [g = std::move(g), scale_type, scale = view.In("Scale"), found = view.Out("FoundInfinite")](
                                                 const KernelArgs& args, void* stream) {
    std::vector<UnscaleTensor> tensors;
    tensors.reserve(g.descs.size());
    for (size_t i = 0; i < g.descs.size(); ++i) {
      void* out = g.first_out < 0 ? nullptr : args.outputs[g.first_out + i];
      tensors.push_back({args.inputs[g.first_in + i], out, g.descs[i].NumElements(), g.descs[i].dtype});
    }
    return LaunchUnscale(
        stream, tensors.data(), static_cast<int64_t>(tensors.size()),
        {{args.inputs[scale], scale_type, 0}, static_cast<bool*>(args.outputs[found]), static_cast<double*>(args.workspace)});
  });
}

template <typename T>
T* ResultOr(const KernelArgs& args, int result) {
  return result < 0 ? nullptr : static_cast<T*>(args.outputs[result]);
}

// Flat positions of operands and results of update_loss_scaling.
struct ScalingOperands {
  explicit ScalingOperands(const SpecView& view)
      : found(view.In("FoundInfinite")),
        stop(view.In("StopUpdate")),
        scale(view.In("PrevLossScaling")),
        good(view.In("InGoodSteps")),
        bad(view.In("InBadSteps")),
        scale_out(view.Out("LossScaling")),
        good_out(view.Out("OutGoodSteps")),
        bad_out(view.Out("OutBadSteps")) {}
  void Put(const KernelArgs& args, ScalingParams& p) const {
    p.found = static_cast<const bool*>(args.inputs[found]);
    p.stop = stop < 0 ? nullptr : static_cast<const bool*>(args.inputs[stop]);
    p.scale = args.inputs[scale];
    p.good = static_cast<const int32_t*>(args.inputs[good]);
    p.bad = static_cast<const int32_t*>(args.inputs[bad]);
    p.scale_out = ResultOr<void>(args, scale_out);
    p.good_out = ResultOr<int32_t>(args, good_out);
    p.bad_out = ResultOr<int32_t>(args, bad_out);
  }
  int found, stop, scale, good, bad, scale_out, good_out, bad_out;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeUpdateScaling(const KernelSpec& spec) {
  const SpecView view(spec);
  const Op& op = view.op();
  KernelTraits traits;
  traits.implementation = "cuda:loss_scaling";
  AMPC_ASSIGN_OR_RETURN(ScaledGradients g, ReadScaledGradients(view));
  traits.in_place_input = g.in_place_input();
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("InGoodSteps").dtype, {DType::kI32}));
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("InBadSteps").dtype, {DType::kI32}));
  ScalingParams p;
  p.policy = ReadLossScalePolicy(op);
  p.always_stop = op.GetBool("stop_update");
  const DType scale_type = view.InDesc("PrevLossScaling").dtype;
  if (scale_type != DType::kF32 && scale_type != DType::kF64) return view.Unsupported("the device's kernel takes a scale of f32 or f64");
  p.is_double = scale_type == DType::kF64;
  return MakeDeviceKernel(std::move(traits), [g = std::move(g), p, operands = ScalingOperands(view)](const KernelArgs& args, void* stream) {
    ScalingParams now = p;
    operands.Put(args, now);
    std::vector<ScalingTensor> tensors;
    tensors.reserve(g.descs.size());
    for (size_t i = 0; i < g.descs.size(); ++i) {
      const int64_t bytes = g.descs[i].NumElements() * static_cast<int64_t>(SizeOf(g.descs[i].dtype));
      tensors.push_back({args.inputs[g.first_in + i], args.outputs[g.first_out + i], (bytes + 15) / 16, bytes});
    }
    return LaunchUpdateScaling(stream, tensors.data(), static_cast<int64_t>(tensors.size()), now);
  });
}

}  // namespace

absl::Status RegisterLossScaling(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"check_finite_and_unscale", &MakeUnscale, types}));
  return registry->Add({"update_loss_scaling", &MakeUpdateScaling, types});
}

}  // namespace ampc::cuda
