// Convolutions, transposed convolutions and their gradients on a device, each made of steps: the transposed one is a convolution's gradient
// by its operand.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/conv_op.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/conv/conv_step.h"
#include "kernels/kernel_registry.h"
#include "kernels/lib/conv_gradient.h"

namespace ampc::cuda {
namespace {

using onednn::ConvSpec;

// Flat positions; -1 when absent.
struct Slots {
  int in = -1, filter = -1, bias = -1, residual = -1;
  int gradient = -1, in_gradient = -1, filter_gradient = -1;  // of a gradient op
};

// The task of the kind on the convolution that the op is or mirrors.
ConvTask TaskOf(const SpecView& view, const ConvSpec& s, ConvKind kind, int filter) {
  ConvTask task;
  task.kind = kind;
  task.type = view.InDesc("Input").dtype;
  task.filter_type = view.spec().inputs[filter].dtype;
  task.conv = s.transposed ? onednn::Mirrored(s) : s;
  return task;
}

class ConvKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
    const SpecView view(spec);
    AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
    AMPC_ASSIGN_OR_RETURN(const ConvSpec s, ReadFusedConv(view));
    std::unique_ptr<ConvKernel> kernel(new ConvKernel);
    Slots& slots = kernel->slots_;
    slots.in = view.In("Input");
    slots.filter = view.In("Filter");
    slots.bias = view.In("Bias");
    slots.residual = view.In("ResidualData");
    ConvTask task = TaskOf(view, s, s.transposed ? ConvKind::kInputGradient : ConvKind::kForward, slots.filter);
    task.bias = s.has_bias;
    if (s.has_bias) task.bias_type = spec.inputs[slots.bias].dtype;
    task.residual = s.has_residual;
    task.residual_layout = s.residual;
    task.activation = s.activation;
    if (task.residual && spec.inputs[slots.residual].dtype != task.type) return view.Unsupported("ResidualData needs the type of Input");
    kernel->transposed_ = s.transposed;
    AMPC_ASSIGN_OR_RETURN(kernel->step_,
                          MakeConvStep(task, *spec.device, spec.values[slots.filter], slots.bias < 0 ? nullptr : spec.values[slots.bias]));
    return kernel;
  }

  int64_t workspace_bytes() const override { return step_->workspace_bytes(); }
  bool rounds_results() const override { return true; }
  bool consumes(int flat) const override {
    return (step_->owns_filter() && flat == slots_.filter) || (step_->owns_bias() && flat == slots_.bias);
  }
  std::string implementation() const override { return step_->implementation(); }
  absl::Status Run(const KernelArgs& args) const override {
    const auto at = [&args](int i) { return i < 0 ? nullptr : const_cast<void*>(args.inputs[i]); };  // operands are only read
    ConvArgs own{at(slots_.in), at(slots_.filter), args.outputs[0], at(slots_.bias), at(slots_.residual), args.workspace};
    if (transposed_) std::swap(own.x, own.y);
    return step_->Run(*args.stream, own);
  }

 private:
  Slots slots_;
  bool transposed_ = false;
  std::unique_ptr<ConvStep> step_;
};

class ConvGradient final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
    const SpecView view(spec);
    std::unique_ptr<ConvGradient> kernel(new ConvGradient);
    Slots& slots = kernel->slots_;
    slots.in = view.In("Input");
    slots.filter = view.In("Filter");
    slots.gradient = view.In("Output@GRAD");
    slots.in_gradient = view.Out("Input@GRAD");
    slots.filter_gradient = view.Out("Filter@GRAD");
    const TensorDesc &in = spec.inputs[slots.in], &gradient = spec.inputs[slots.gradient];
    AMPC_RETURN_IF_ERROR(view.CheckType(in.dtype, {DType::kF32}));
    if (gradient.dtype != in.dtype) return view.Unsupported("Output@GRAD needs the type of Input");
    AMPC_ASSIGN_OR_RETURN(ConvSpec s, ReadConv(view, absl::StripSuffix(view.op().type(), "_grad"), in, gradient));
    kernel->transposed_ = s.transposed;
    if (slots.filter_gradient >= 0) {
      ConvTask task = TaskOf(view, s, ConvKind::kFilterGradient, slots.filter);
      task.filter_type = spec.outputs[slots.filter_gradient].dtype;
      AMPC_ASSIGN_OR_RETURN(kernel->weights_, MakeConvStep(task, *spec.device, nullptr, nullptr));
    }
    if (slots.in_gradient >= 0) {
      s.in = ConvLayout(view, spec.outputs[slots.in_gradient]);
      const ConvTask task = TaskOf(view, s, s.transposed ? ConvKind::kForward : ConvKind::kInputGradient, slots.filter);
      AMPC_ASSIGN_OR_RETURN(kernel->data_, MakeConvStep(task, *spec.device, spec.values[slots.filter], nullptr));
    }
    return kernel;
  }

  int64_t workspace_bytes() const override {
    return std::max(data_ == nullptr ? 0 : data_->workspace_bytes(), weights_ == nullptr ? 0 : weights_->workspace_bytes());
  }
  bool rounds_results() const override { return true; }
  bool consumes(int flat) const override { return data_ != nullptr && data_->owns_filter() && flat == slots_.filter; }
  std::string implementation() const override { return weights_ == nullptr ? data_->implementation() : weights_->implementation(); }

  absl::Status Run(const KernelArgs& args) const override {
    const auto in = [&args](int i) { return const_cast<void*>(args.inputs[i]); };  // operands are only read
    if (data_ != nullptr) {
      ConvArgs own{args.outputs[slots_.in_gradient], in(slots_.filter), in(slots_.gradient), nullptr, nullptr, args.workspace};
      if (transposed_) std::swap(own.x, own.y);
      AMPC_RETURN_IF_ERROR(data_->Run(*args.stream, own));
    }
    if (weights_ == nullptr) return absl::OkStatus();
    ConvArgs own{in(slots_.in), args.outputs[slots_.filter_gradient], in(slots_.gradient), nullptr, nullptr, args.workspace};
    if (transposed_) std::swap(own.x, own.y);
    return weights_->Run(*args.stream, own);
  }

 private:
  Slots slots_;
  bool transposed_ = false;
  std::unique_ptr<ConvStep> data_;     // null where the operand's gradient is not wanted
  std::unique_ptr<ConvStep> weights_;  // null where the filter's is not wanted
};

}  // namespace

absl::Status RegisterConv(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  for (const std::string op :
       {"conv2d", "conv2d_transpose", "depthwise_conv2d", "depthwise_conv2d_transpose", "conv3d", "conv3d_transpose"}) {
    const LayoutSupport layouts = absl::StrContains(op, "3d") ? LayoutSupport::kPlainOnly : LayoutSupport::kAware;
    AMPC_RETURN_IF_ERROR(registry->Add({op, &ConvKernel::Make, types, layouts}));
    AMPC_RETURN_IF_ERROR(registry->Add({op + "_grad", &ConvGradient::Make, types, layouts}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
