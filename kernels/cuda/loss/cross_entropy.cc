// cross_entropy, softmax_with_cross_entropy and their gradients on a device.
#include "kernels/cuda/loss/cross_entropy.h"

#include "graph/base/status_macros.h"
#include "kernels/cpu/loss/loss_rows.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/reduce/shape_of.h"

namespace ampc::cuda {
namespace {

// Flat operands and results; -1 where there is none.
struct Slots {
  int x = -1, g = -1, softmax = -1, loss = -1;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const SpecView& view, const Slots& slots, bool normalise) {
  const KernelSpec& spec = view.spec();
  const bool gradient = slots.loss < 0;
  KernelTraits traits;
  traits.implementation = gradient ? "cuda:cross_entropy_gradient" : "cuda:cross_entropy";
  if (spec.outputs.empty()) return MakeDeviceKernel(std::move(traits), [](const KernelArgs&, void*) { return 0; });
  const TensorDesc& x = spec.inputs[slots.x];
  const int same = gradient ? 0 : slots.softmax;  // the result of x's type
  if (same >= 0 && spec.outputs[same].dtype != x.dtype) return view.Unsupported("the device's kernel needs a result of the operand's type");
  LossRows rows;
  AMPC_RETURN_IF_ERROR(ReadLossRows(view, x, normalise ? view.op().GetInt("axis", -1) : -1, &rows));
  if (rows.size == 0 && rows.outer * rows.inner > 0) return view.Unsupported("there is no class");
  CrossEntropyParams p;
  p.rows = RowsOf(rows);
  p.dtype = x.dtype;
  p.normalise = normalise && view.op().GetBool("use_softmax", true);
  p.stable = view.op().GetBool("numeric_stable_mode", true);
  p.soft = rows.soft;
  p.ignore = rows.ignore;
  p.label = InputOf(view, rows.label);
  p.g = InputOf(view, slots.g);
  p.loss = OutputOf(view, slots.loss);
  if (gradient) traits.in_place_input = slots.x;
  return MakeDeviceKernel(std::move(traits), [p, slots, gradient, label = rows.label](const KernelArgs& args, void* stream) {
    CrossEntropyParams run = p;
    run.x = args.inputs[slots.x];
    run.label = At(p.label, args, label);
    if (gradient) {
      run.g = At(p.g, args, slots.g);
      run.dx = args.outputs[0];
      return LaunchCrossEntropyGradient(stream, run);
    }
    run.softmax = slots.softmax < 0 ? nullptr : args.outputs[slots.softmax];
    run.loss = At(p.loss, args, slots.loss);
    return LaunchCrossEntropy(stream, run);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeCrossEntropy(const KernelSpec& spec) {
  const SpecView view(spec);
  return Make(view, {.x = view.In("X"), .loss = view.Out("Y")}, false);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSoftmaxWithCrossEntropy(const KernelSpec& spec) {
  const SpecView view(spec);
  return Make(view, {.x = view.In("Logits"), .softmax = view.Out("Softmax"), .loss = view.Out("Loss")}, true);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeCrossEntropyGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  return Make(view, {.x = view.In("X"), .g = view.In("Y@GRAD")}, false);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSoftmaxWithCrossEntropyGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  return Make(view, {.x = view.In("Softmax"), .g = view.In("Loss@GRAD")}, true);
}

const std::vector<DType>& Floats() {
  static const auto* const types = new std::vector<DType>{DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  return *types;
}

}  // namespace

absl::Status RegisterCrossEntropy(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"cross_entropy", &MakeCrossEntropy, Floats()}));
  return registry->Add({"softmax_with_cross_entropy", &MakeSoftmaxWithCrossEntropy, Floats()});
}

absl::Status RegisterLossGradient(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"cross_entropy_grad", &MakeCrossEntropyGradient, Floats()}));
  return registry->Add({"softmax_with_cross_entropy_grad", &MakeSoftmaxWithCrossEntropyGradient, Floats()});
}

}  // namespace ampc::cuda
