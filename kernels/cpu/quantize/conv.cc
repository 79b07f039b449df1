// quantized_conv2d: one int8 primitive where that is exact and oneDNN has one, else what the integers stand for is convolved in fp32.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/aligned.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/conv_op.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/quantize/operands.h"
#include "kernels/cpu/simd/quantize.h"
#include "kernels/layout.h"
#include "kernels/lib/activation.h"
#include "kernels/lib/conv.h"
#include "kernels/lib/int8.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using onednn::ConvSpec;
using onednn::Int8ConvSpec;

constexpr int64_t kGrain = 1 << 15;  // elements of a thread

// The numbers of the constant operands.
struct Numbers {
  float in_scale = 1, out_scale = 1;
  int32_t in_zero = 0, out_zero = 0;
  std::vector<float> filter_scales, bias;  // one for each filter; bias empty: none
  std::vector<int32_t> filter_zeros;
  bool quantizes = false;
};

template <typename T>
std::vector<T> Repeated(const std::vector<T>& values, int64_t count, T none) {
  if (values.empty()) return std::vector<T>(count, none);
  return static_cast<int64_t>(values.size()) == count ? values : std::vector<T>(count, values[0]);
}

absl::StatusOr<Numbers> ReadNumbers(const SpecView& view, int64_t filters) {
  const auto in_scale = ConstantFloats(view, "InputScale"), filter_scale = ConstantFloats(view, "FilterScale"),
             bias = ConstantFloats(view, "Bias");
  const auto out_scale = ConstantFloats(view, "OutScale");
  const auto in_zero = ConstantInts(view, "InputZeroPoint"), filter_zero = ConstantInts(view, "FilterZeroPoint"),
             out_zero = ConstantInts(view, "OutZeroPoint");
  if (!in_scale || !filter_scale || !bias || !out_scale || !in_zero || !filter_zero || !out_zero || in_scale->empty() ||
      view.spec().values[view.In("Filter")] == nullptr) {
    return view.Unsupported("the cpu kernel needs constant scales and a constant filter");
  }
  Numbers n;
  n.in_scale = (*in_scale)[0];
  n.quantizes = !out_scale->empty();
  if (n.quantizes) n.out_scale = (*out_scale)[0];
  if (!in_zero->empty()) n.in_zero = (*in_zero)[0];
  if (!out_zero->empty()) n.out_zero = (*out_zero)[0];
  n.filter_scales = Repeated(*filter_scale, filters, 1.0f);
  n.filter_zeros = Repeated(*filter_zero, filters, 0);
  if (!bias->empty()) n.bias = Repeated(*bias, filters, 0.0f);
  return n;
}

// The filter as i8; nullopt where its zero points leave more than that.
absl::StatusOr<std::optional<HostTensor>> SignedFilter(const SpecView& view, const Numbers& n) {
  const HostTensor& filter = *view.spec().values[view.In("Filter")];
  const bool flips = view.InDesc("Filter").dtype == DType::kU8;
  for (const int32_t zero : n.filter_zeros) {
    if (zero != (flips ? 128 : 0)) return std::nullopt;
  }
  const int64_t size = view.InDesc("Filter").NumElements();
  AMPC_ASSIGN_OR_RETURN(HostTensor to, HostTensor::CreateUninitialized(DType::kI8, view.InDesc("Filter").dims));
  if (flips) {
    FlipSigns(filter.data(), to.mutable_data(), size);
  } else {
    std::copy_n(static_cast<const char*>(filter.data()), size, static_cast<char*>(to.mutable_data()));
  }
  return to;
}

bool IsPositive(float v) { return v > 0 && std::isfinite(v); }

// The int8 primitive's arguments; false where it would not give the same.
bool Fits(const ConvSpec& conv, const Numbers& n, Int8ConvSpec* s) {
  constexpr int64_t kMostProducts = (int64_t{1} << 31) / (255 * 128);
  if (!onednn::HasExactInt8() || conv.in_c / conv.groups * conv.window() >= kMostProducts) return false;
  s->conv = conv;
  const ActivationKind kind = conv.activation.kind;
  if (n.quantizes && kind != ActivationKind::kNone && kind != ActivationKind::kRelu && kind != ActivationKind::kRelu6) return false;
  if (n.quantizes && (conv.activation.scale != 1 || conv.activation.shift != 0)) return false;
  if (kind == ActivationKind::kRelu6) s->conv.activation.alpha /= n.out_scale;
  s->in_zero = n.in_zero;
  s->out_zero = n.out_zero;
  for (size_t i = 0; i < n.filter_scales.size(); ++i) {
    s->scales.push_back(n.in_scale * n.filter_scales[i] / n.out_scale);
    if (!IsPositive(s->scales.back()) || !IsPositive(n.out_scale)) return false;
    if (n.bias.empty()) continue;
    s->bias.push_back(n.bias[i] / n.out_scale);
    if (!std::isfinite(s->bias.back() / s->scales.back())) return false;
  }
  return true;
}

std::unique_ptr<Kernel> MakeInt8(std::unique_ptr<onednn::Int8Conv> made, const ConvSpec& s, DType out_type, int flat_in) {
  const std::shared_ptr<const onednn::Int8Conv> conv = std::move(made);
  const int64_t in_bytes = s.batch * s.in_c * s.in_positions(), out_bytes = s.batch * s.out_c * s.out_positions() * ElementSize(out_type);
  const bool turns_in = s.in == Layout::kPlain && s.in_c > 1 && s.in_positions() > 1,
             turns_out = s.out == Layout::kPlain && s.out_c > 1 && s.out_positions() > 1;
  const int64_t in_at = Aligned(conv->workspace_bytes()), out_at = in_at + (turns_in ? Aligned(in_bytes) : 0);
  KernelTraits traits{.implementation = conv->implementation(), .rounds_results = false};
  traits.workspace_bytes = out_at + (turns_out ? Aligned(out_bytes) : 0);
  return MakeLambdaKernel(std::move(traits), [=](const KernelArgs& args) {
    char* const ws = static_cast<char*>(args.workspace);
    const void* in = args.inputs[flat_in];
    if (turns_in) {
      TransposeBytes(args.threads, s.batch, s.in_c, s.in_positions(), in, ws + in_at);
      in = ws + in_at;
    }
    void* const out = turns_out ? ws + out_at : args.outputs[0];
    AMPC_RETURN_IF_ERROR(conv->Run(in, out, ws));
    if (!turns_out) return absl::OkStatus();
    if (out_type == DType::kF32) {
      Transpose2D(args.threads, s.batch, s.out_positions(), s.out_c, static_cast<const float*>(out), static_cast<float*>(args.outputs[0]));
    } else {
      TransposeBytes(args.threads, s.batch, s.out_positions(), s.out_c, out, args.outputs[0]);
    }
    return absl::OkStatus();
  });
}

// The numbers that the filter stands for.
absl::StatusOr<HostTensor> WideFilter(const SpecView& view, const Numbers& n) {
  const TensorDesc& desc = view.InDesc("Filter");
  AMPC_ASSIGN_OR_RETURN(HostTensor wide, HostTensor::CreateUninitialized(DType::kF32, desc.dims));
  const int64_t size = desc.NumElements() / desc.dims[0];
  const char* from = static_cast<const char*>(view.spec().values[view.In("Filter")]->data());
  for (int64_t i = 0; i < desc.dims[0]; ++i) {
    simd::Dequantize(desc.dtype)(from + i * size, n.filter_scales[i], n.filter_zeros[i], wide.mutable_values<float>().data() + i * size,
                                 size);
  }
  return wide;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWide(const SpecView& view, ConvSpec s, const Numbers& n) {
  const int flat_in = view.In("Input"), flat_bias = view.In("Bias");
  s.has_bias = flat_bias >= 0;
  AMPC_ASSIGN_OR_RETURN(const HostTensor filter, WideFilter(view, n));
  absl::StatusOr<std::unique_ptr<onednn::Conv>> made = MakeConv(s, &filter, nullptr);
  if (!made.ok()) return Annotate(made.status(), Describe(view.op()));
  const std::shared_ptr<const onednn::Conv> conv = *std::move(made);
  const auto from = simd::Dequantize(view.InDesc("Input").dtype);
  const DType out_type = view.OutDesc("Output").dtype;
  const simd::QuantizeFn to = n.quantizes ? simd::Quantize(out_type) : nullptr;
  const int64_t in_size = s.batch * s.in_c * s.in_positions(), out_size = s.batch * s.out_c * s.out_positions();
  const int64_t in_at = Aligned(conv->workspace_bytes()), out_at = in_at + Aligned(4 * in_size);
  KernelTraits traits{.implementation = conv->implementation()};
  traits.workspace_bytes = out_at + (n.quantizes ? Aligned(4 * out_size) : 0);
  const auto bias = std::make_shared<const std::vector<float>>(n.bias);
  return MakeLambdaKernel(std::move(traits), [=, filter = filter](const KernelArgs& args) {
    char* const ws = static_cast<char*>(args.workspace);
    float* const in = reinterpret_cast<float*>(ws + in_at);
    const char* const x = static_cast<const char*>(args.inputs[flat_in]);
    ParallelFor(args.threads, in_size, kGrain,
                [&](int64_t first, int64_t last) { from(x + first, n.in_scale, n.in_zero, in + first, last - first); });
    float* const out = to == nullptr ? static_cast<float*>(args.outputs[0]) : reinterpret_cast<float*>(ws + out_at);
    AMPC_RETURN_IF_ERROR(conv->Run({in, filter.values<float>().data(), s.has_bias ? bias->data() : nullptr, nullptr, out, ws}));
    if (to == nullptr) return absl::OkStatus();
    char* const y = static_cast<char*>(args.outputs[0]);
    ParallelFor(args.threads, out_size, kGrain,
                [&](int64_t first, int64_t last) { to(out + first, n.out_scale, n.out_zero, y + first, last - first); });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &in = view.InDesc("Input"), &out = view.OutDesc("Output");
  AMPC_ASSIGN_OR_RETURN(ConvSpec s, ReadConv(view, "conv2d", in, out));
  AMPC_ASSIGN_OR_RETURN(s.activation, ReadActivation(view.op()));
  AMPC_ASSIGN_OR_RETURN(const Numbers n, ReadNumbers(view, s.out_c));
  if (out.NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (in.NumElements() == 0 || view.InDesc("Filter").NumElements() == 0) return view.Unsupported("an empty operand has no cpu kernel");
  Int8ConvSpec int8;
  int8.in = in.dtype;
  int8.out = out.dtype;
  AMPC_ASSIGN_OR_RETURN(const std::optional<HostTensor> filter, SignedFilter(view, n));
  if (filter.has_value() && Fits(s, n, &int8)) {
    absl::StatusOr<std::unique_ptr<onednn::Int8Conv>> made = MakeInt8Conv(int8, *filter, spec.values[view.In("Filter")], spec.weights);
    if (!made.ok()) return Annotate(made.status(), Describe(view.op()));
    if (*made != nullptr) return MakeInt8(*std::move(made), s, out.dtype, view.In("Input"));
  }
  return MakeWide(view, s, n);
}

}  // namespace

absl::Status RegisterQuantizedConv(KernelRegistry* registry) {
  return registry->Add({"quantized_conv2d", &Make, {DType::kU8, DType::kI8, DType::kF32}, LayoutSupport::kAware});
}

}  // namespace ampc
