// Gradients of convolutions and transposed convolutions: the operand's is a convolution of the other kind on the same filter.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/conv_op.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/lib/conv_gradient.h"

namespace ampc {
namespace {

using onednn::ConvSpec;

// Flat operands and results; -1 when absent.
struct Slots {
  int in, filter, gradient, in_gradient, filter_gradient;
};

class ConvGradient final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const SpecView& view, const ConvSpec& s, Slots slots) {
    std::unique_ptr<ConvGradient> kernel(new ConvGradient(slots, s.transposed));
    if (slots.in_gradient >= 0) {
      ConvSpec back = onednn::Mirrored(s);
      back.out = ConvLayout(view, view.spec().outputs[slots.in_gradient]);
      AMPC_ASSIGN_OR_RETURN(kernel->data_, onednn::MakeConv(back, view.spec().values[slots.filter], view.spec().weights));
      kernel->consumes_filter_ = view.spec().values[slots.filter] != nullptr;
    }
    if (slots.filter_gradient >= 0) {
      AMPC_ASSIGN_OR_RETURN(kernel->weights_, onednn::MakeFilterGradient(s.transposed ? onednn::Mirrored(s) : s));
    }
    return kernel;
  }

  int64_t workspace_bytes() const override {
    return std::max(data_ == nullptr ? 0 : data_->workspace_bytes(), weights_ == nullptr ? 0 : weights_->workspace_bytes());
  }
  bool consumes(int flat) const override { return consumes_filter_ && flat == slots_.filter; }
  std::string implementation() const override { return weights_ == nullptr ? data_->implementation() : weights_->implementation(); }

  absl::Status Run(const KernelArgs& args) const override {
    const auto in = [&args](int i) { return static_cast<const float*>(args.inputs[i]); };
    const auto out = [&args](int i) { return static_cast<float*>(args.outputs[i]); };
    if (data_ != nullptr) {
      AMPC_RETURN_IF_ERROR(data_->Run({in(slots_.gradient), in(slots_.filter), nullptr, nullptr, out(slots_.in_gradient), args.workspace}));
    }
    if (weights_ == nullptr) return absl::OkStatus();
    const float *x = in(slots_.in), *gradient = in(slots_.gradient);
    return weights_->Run(transposed_ ? gradient : x, transposed_ ? x : gradient, out(slots_.filter_gradient), args.workspace);
  }

 private:
  ConvGradient(Slots slots, bool transposed) : slots_(slots), transposed_(transposed) {}

  const Slots slots_;
  const bool transposed_;
  bool consumes_filter_ = false;
  std::unique_ptr<onednn::Conv> data_;               // null where the operand's gradient is not wanted
  std::unique_ptr<onednn::FilterGradient> weights_;  // null where the filter's is not wanted
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const Slots slots{view.In("Input"), view.In("Filter"), view.In("Output@GRAD"), view.Out("Input@GRAD"), view.Out("Filter@GRAD")};
  const TensorDesc &in = spec.inputs[slots.in], &gradient = spec.inputs[slots.gradient];
  AMPC_RETURN_IF_ERROR(view.CheckType(in.dtype, {DType::kF32}));
  if (in.NumElements() == 0 || spec.inputs[slots.filter].NumElements() == 0 || gradient.NumElements() == 0) {
    std::vector<int64_t> bytes;
    for (const TensorDesc& out : spec.outputs) bytes.push_back(out.StorageBytes());
    return MakeLambdaKernel({}, [bytes](const KernelArgs& args) {
      for (size_t i = 0; i < bytes.size(); ++i) std::fill_n(static_cast<char*>(args.outputs[i]), bytes[i], 0);
      return absl::OkStatus();
    });
  }
  AMPC_ASSIGN_OR_RETURN(const ConvSpec s, ReadConv(view, absl::StripSuffix(view.op().type(), "_grad"), in, gradient));
  absl::StatusOr<std::unique_ptr<Kernel>> kernel = ConvGradient::Make(view, s, slots);
  if (!kernel.ok()) return Annotate(kernel.status(), Describe(view.op()));
  return kernel;
}

}  // namespace

absl::Status RegisterConvGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  for (const char* op : {"conv2d_grad", "conv2d_transpose_grad", "depthwise_conv2d_grad", "depthwise_conv2d_transpose_grad", "conv3d_grad",
                         "conv3d_transpose_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, types, LayoutSupport::kAware}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
