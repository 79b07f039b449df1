// Convolutions and transposed convolutions of two and three dimensions on oneDNN, channels last inside; a row-major operand or result is
// transposed in workspace.
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/conv_op.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/halves.h"
#include "kernels/lib/activation.h"
#include "kernels/lib/conv.h"
#include "kernels/weight_cache.h"

namespace ampc {
namespace {

using onednn::ConvBuffers;
using onednn::ConvSpec;

// Flat positions of the operands; -1 when absent.
struct Slots {
  int in, filter, bias, residual;
};

class ConvKernel final : public Kernel {
 public:
  ConvKernel(std::unique_ptr<onednn::Conv> conv, Slots slots, bool consumes_filter, bool own_residual)
      : conv_(std::move(conv)), slots_(slots), consumes_filter_(consumes_filter), own_residual_(own_residual) {}
  int64_t workspace_bytes() const override { return conv_->workspace_bytes(); }
  bool consumes(int flat) const override { return consumes_filter_ && flat == slots_.filter; }
  int in_place_input() const override { return own_residual_ && conv_->may_add_in_place() ? slots_.residual : -1; }
  std::string implementation() const override { return conv_->implementation(); }
  absl::Status Run(const KernelArgs& args) const override {
    const auto at = [&args](int i) { return i < 0 ? nullptr : args.inputs[i]; };
    const auto floats = [&at](int i) { return static_cast<const float*>(at(i)); };
    return conv_->Run({at(slots_.in), floats(slots_.filter), floats(slots_.bias), at(slots_.residual), args.outputs[0], args.workspace});
  }

 private:
  const std::unique_ptr<onednn::Conv> conv_;
  const Slots slots_;
  const bool consumes_filter_;
  const bool own_residual_;  // the residual is not the convolution's input too
};

// Every window lies in an operand without elements: the bias, the residual and the activation are left.
std::unique_ptr<Kernel> MakeEmptySum(const ConvSpec& s, Slots slots) {
  return MakeLambdaKernel({}, [s, slots](const KernelArgs& args) {
    float* out = static_cast<float*>(args.outputs[0]);
    const float* bias = slots.bias < 0 ? nullptr : static_cast<const float*>(args.inputs[slots.bias]);
    const float* residual = slots.residual < 0 ? nullptr : static_cast<const float*>(args.inputs[slots.residual]);
    const int64_t hw = s.out_positions(), total = s.batch * s.out_c * hw;
    for (int64_t i = 0; i < total; ++i) {
      const int64_t c = s.out == Layout::kPlain ? i / hw % s.out_c : i % s.out_c;
      out[i] = (bias == nullptr ? 0.0f : bias[c]) + (residual == nullptr ? 0.0f : residual[i]);
    }
    ApplyActivation(s.activation, args.threads, out, total);
    return absl::OkStatus();
  });
}

// Whether there are halves where the library takes floats only, or nothing for the library to do.
bool ReadsOtherHalves(const KernelSpec& spec, Slots slots) {
  if (!HasHalves(spec)) return false;
  const auto half = [&spec](int i) { return i >= 0 && spec.inputs[i].half; };
  return half(slots.filter) || half(slots.bias) || spec.inputs[slots.in].NumElements() == 0 || spec.inputs[slots.filter].NumElements() == 0;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(const ConvSpec s, ReadFusedConv(view));
  const Slots slots{view.In("Input"), view.In("Filter"), view.In("Bias"), view.In("ResidualData")};
  if (ReadsOtherHalves(spec, slots)) {
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, Make(InFloats(spec)));
    return MakeWidened(std::move(kernel), spec);
  }
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (spec.inputs[slots.in].NumElements() == 0 || spec.inputs[slots.filter].NumElements() == 0) {
    if (s.has_residual && s.residual != s.out)
      return view.Unsupported("an empty operand with a residual in another layout has no cpu kernel");
    return MakeEmptySum(s, slots);
  }
  const HostTensor* filter = spec.values[slots.filter];
  absl::StatusOr<std::unique_ptr<onednn::Conv>> conv = MakeConv(s, filter, spec.weights);
  if (!conv.ok()) return Annotate(conv.status(), Describe(view.op()));
  const bool own_residual = slots.residual >= 0 && view.op().inputs()[slots.residual] != view.op().inputs()[slots.in];
  const bool consumes = filter != nullptr && (!MayLoseNan(s.activation) || (spec.weights != nullptr && spec.weights->CanRead(filter)));
  return std::make_unique<ConvKernel>(*std::move(conv), slots, consumes, own_residual);
}

}  // namespace

absl::Status RegisterConv(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  for (const char* op : {"conv2d", "conv2d_transpose", "depthwise_conv2d", "depthwise_conv2d_transpose", "conv3d", "conv3d_transpose"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, types, LayoutSupport::kAware, nullptr, HalfSupport::kEach}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
