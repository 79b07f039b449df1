// batch_norm and its gradient on a device, as kernels/cpu/batch_norm.cc and kernels/cpu/gradient/norm.cc compute them.
#include <memory>
#include <string>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/any_float.h"
#include "kernels/cuda/batch_norm/batch_norm_code.h"
#include "kernels/device/device.h"
#include "kernels/lib/activation.h"

namespace ampc::cuda {
namespace {

BatchNormShape ReadShape(const SpecView& view, const TensorDesc& x) {
  const size_t rank = x.dims.size();
  const bool nhwc = ops::ChannelsLast(view.op().GetString("data_layout"));
  const size_t channel = nhwc ? rank - 1 : 1;
  BatchNormShape s{x.dtype, x.dims[0], x.dims[channel], 1};
  for (size_t i = 1; i < rank; ++i) s.spatial *= i == channel ? 1 : x.dims[i];
  if (nhwc || x.layout == Layout::kChannelsLast) {
    s.images *= s.spatial;
    s.spatial = 1;
  }
  return s;
}

// A slot that is bound to memory at each run.
struct Slot {
  int flat = -1;
  DType type = DType::kF32;
  AnyFloat In(const KernelArgs& args) const { return {flat < 0 ? nullptr : const_cast<void*>(args.inputs[flat]), type}; }  // only read
  AnyFloat Out(const KernelArgs& args) const { return {flat < 0 ? nullptr : args.outputs[flat], type}; }
};

Slot InSlot(const SpecView& view, const char* name) {
  const int flat = view.In(name);
  return {flat, flat < 0 ? DType::kF32 : view.spec().inputs[flat].dtype};
}

Slot OutSlot(const SpecView& view, const char* name) {
  const int flat = view.Out(name);
  return {flat, flat < 0 ? DType::kF32 : view.spec().outputs[flat].dtype};
}

struct Slots {
  int x = -1, y = -1, reserve = -1;
  int64_t reserve_bytes = 0;
  Slot scale, bias, mean, variance, momentum, mean_out, variance_out, saved_mean, saved_inverse;
};

absl::Status Run(const BatchNormRun& given, const Slots& slots, const KernelArgs& args) {
  BatchNormRun run = given;
  run.x = args.inputs[slots.x];
  run.y = args.outputs[slots.y];
  run.workspace = args.workspace;
  run.scale = slots.scale.In(args);
  run.bias = slots.bias.In(args);
  run.mean = slots.mean.In(args);
  run.variance = slots.variance.In(args);
  run.momentum = slots.momentum.In(args);
  run.mean_out = slots.mean_out.Out(args);
  run.variance_out = slots.variance_out.Out(args);
  run.saved_mean = slots.saved_mean.Out(args);
  run.saved_inverse = slots.saved_inverse.Out(args);
  if (slots.reserve_bytes > 0) AMPC_RETURN_IF_ERROR(args.stream->FillBytes(args.outputs[slots.reserve], 0, slots.reserve_bytes));
  return args.stream->device().LaunchStatus(LaunchBatchNorm(args.stream->native(), run), "cuda:batch_norm");
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  const Op& op = view.op();
  Slots slots;
  slots.x = view.In("X");
  slots.y = view.Out("Y");
  slots.reserve = view.Out("ReserveSpace");
  slots.scale = InSlot(view, "Scale");
  slots.bias = InSlot(view, "Bias");
  slots.mean = InSlot(view, "Mean");
  slots.variance = InSlot(view, "Variance");
  slots.mean_out = OutSlot(view, "MeanOut");
  slots.variance_out = OutSlot(view, "VarianceOut");
  slots.saved_mean = OutSlot(view, "SavedMean");
  slots.saved_inverse = OutSlot(view, "SavedVariance");
  if (slots.reserve >= 0) {
    const TensorDesc& reserve = spec.outputs[slots.reserve];
    slots.reserve_bytes = reserve.NumElements() * static_cast<int64_t>(SizeOf(reserve.dtype));
  }
  BatchNormRun run;
  run.shape = ReadShape(view, spec.inputs[slots.x]);
  if (spec.outputs[slots.y].layout != spec.inputs[slots.x].layout)
    return view.Unsupported("the device's kernel needs Y in the layout of X");
  run.training = !op.GetBool("is_test") && !op.GetBool("use_global_stats");
  run.epsilon = op.GetFloat("epsilon", 1e-5f);
  const ScalarInput momentum(view, "MomentumTensor", op.GetFloat("momentum", 0.9f));
  if (momentum.is_fixed()) {
    run.keep = static_cast<float>(momentum.Get({}));
  } else {
    slots.momentum = InSlot(view, "MomentumTensor");
    if (!IsFloat(slots.momentum.type)) return view.Unsupported("the device's kernel needs MomentumTensor as a float");
  }
  AMPC_ASSIGN_OR_RETURN(run.activation, ReadActivation(op));
  KernelTraits traits;
  traits.implementation = "cuda:batch_norm";
  traits.rounds_results = true;
  traits.in_place_input = slots.y == 0 ? slots.x : -1;
  traits.workspace_bytes = BatchNormWorkspace(run.shape);
  return MakeLambdaKernel(traits, [run, slots](const KernelArgs& args) { return Run(run, slots, args); });
}

// The statistics that a gradient starts from: the running ones where they were given, else what the forward op saved, else none.
absl::Status ReadStatistics(const SpecView& view, BatchNormGradientRun* run, Slots* slots) {
  run->given = view.op().GetBool("is_test") || view.op().GetBool("use_global_stats");
  const bool running = run->given && view.In("MeanOut") >= 0 && view.In("VarianceOut") >= 0;
  const bool saved = view.In("SavedMean") >= 0 && view.In("SavedVariance") >= 0;
  if (run->given && !running && !saved) {
    return view.Unsupported("the gradient for given statistics reads MeanOut and VarianceOut, which are absent");
  }
  run->variance_inverted = !running;
  if (!running && !saved) return absl::OkStatus();
  slots->mean = InSlot(view, running ? "MeanOut" : "SavedMean");
  slots->variance = InSlot(view, running ? "VarianceOut" : "SavedVariance");
  for (const Slot& slot : {slots->mean, slots->variance}) {
    if (view.spec().inputs[slot.flat].NumElements() != run->shape.channels) return view.Internal("a saved statistic has the wrong size");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const Op& op = view.op();
  if (op.GetBool("fuse_with_relu")) return view.Unsupported("a batch_norm with a fused relu has no gradient");
  const int x = view.In("X"), gradient = view.In("Y@GRAD"), to = view.Out("X@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[x].dtype, {DType::kF32}));
  const TensorDesc& in = spec.inputs[x];
  const auto like_x = [&in](const TensorDesc& t) { return t.layout == in.layout && t.dtype == in.dtype; };
  if (!like_x(spec.inputs[gradient]) || (to >= 0 && !like_x(spec.outputs[to]))) {
    return view.Unsupported("the device's kernel needs gradients in the type and layout of X");
  }
  BatchNormGradientRun given;
  given.shape = ReadShape(view, in);
  given.epsilon = op.GetFloat("epsilon", 1e-5f);
  Slots slots;
  slots.scale = InSlot(view, "Scale");
  AMPC_RETURN_IF_ERROR(ReadStatistics(view, &given, &slots));
  const Slot to_scale = OutSlot(view, "Scale@GRAD"), to_bias = OutSlot(view, "Bias@GRAD");
  KernelTraits traits;
  traits.implementation = "cuda:batch_norm";
  traits.rounds_results = true;
  if (to == 0) traits.in_place_input = gradient;
  traits.workspace_bytes = BatchNormWorkspace(given.shape);
  return MakeLambdaKernel(traits, [=](const KernelArgs& args) {
    BatchNormGradientRun run = given;
    run.x = args.inputs[x], run.gradient = args.inputs[gradient], run.to = to < 0 ? nullptr : args.outputs[to];
    run.scale = slots.scale.In(args), run.mean = slots.mean.In(args), run.variance = slots.variance.In(args);
    run.to_scale = to_scale.Out(args), run.to_bias = to_bias.Out(args);
    run.workspace = args.workspace;
    return args.stream->device().LaunchStatus(LaunchBatchNormGradient(args.stream->native(), run), "cuda:batch_norm");
  });
}

}  // namespace

absl::Status RegisterBatchNorm(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  AMPC_RETURN_IF_ERROR(registry->Add({"batch_norm", &Make, types, LayoutSupport::kFollows}));
  return registry->Add({"batch_norm_grad", &MakeGradient, types, LayoutSupport::kFollows});
}

}  // namespace ampc::cuda
