// affine_channel: Scale * X + Bias per channel.
#include <algorithm>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// X as [images, channels, spatial], or [images * spatial, channels] when the channels lie last.
struct AffineChannel {
  int64_t rows = 1, channels = 1, size = 1;  // size: elements of a row
  bool columns = false;
  int x, scale, bias;
};

absl::Status Run(const AffineChannel& a, const KernelArgs& args) {
  const auto in = [&args](int i) { return static_cast<const float*>(args.inputs[i]); };
  float* zeros = static_cast<float*>(args.workspace);
  if (a.columns) std::fill(zeros, zeros + a.channels, 0.0f);
  ParallelFor(args.threads, a.rows, std::max<int64_t>(1, (1 << 14) / a.size), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const float* x = in(a.x) + r * a.size;
      float* out = static_cast<float*>(args.outputs[0]) + r * a.size;
      const int64_t c = r % a.channels;
      if (a.columns) {
        simd::AffineColumns(x, zeros, in(a.scale), in(a.bias), out, a.size);
      } else {
        simd::AffineRow(x, {0, in(a.scale)[c], in(a.bias)[c]}, out, a.size);
      }
    }
  });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  const TensorDesc& x = view.InDesc("X");
  if (spec.outputs[0].layout != x.layout) return view.Unsupported("the cpu kernel needs Out in the layout of X");
  const bool last = view.op().GetString("data_layout", "AnyLayout") != "NCHW";
  AffineChannel a{.channels = last ? x.dims.back() : x.dims[1], .x = view.In("X"), .scale = view.In("Scale"), .bias = view.In("Bias")};
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  traits.in_place_input = a.x;
  const int64_t total = x.NumElements();
  if (total == 0) return MakeLambdaKernel(traits, [](const KernelArgs&) { return absl::OkStatus(); });
  a.columns = last || x.layout == Layout::kChannelsLast || total == x.dims[0] * a.channels;
  a.size = a.columns ? a.channels : total / x.dims[0] / a.channels;
  a.rows = total / a.size;
  if (a.columns) traits.workspace_bytes = a.channels * static_cast<int64_t>(sizeof(float));
  return MakeLambdaKernel(traits, [a](const KernelArgs& args) { return Run(a, args); });
}

// Flat; -1: not wanted.
struct Gradients {
  int from, x, scale, bias;
};

// Of channels [first, last): their sums of gradients, and of gradients times X, one row after the other.
void SumChannels(const AffineChannel& a, const float* x, const float* gradient, int64_t first, int64_t last, double* sums,
                 double* products) {
  std::fill(sums + first, sums + last, 0.0);
  std::fill(products + first, products + last, 0.0);
  for (int64_t r = 0; r < a.rows; ++r) {
    const float *at = x + r * a.size, *from = gradient + r * a.size;
    if (a.columns) {
      for (int64_t c = first; c < last; ++c) {
        sums[c] += static_cast<double>(from[c]);
        products[c] += static_cast<double>(from[c]) * static_cast<double>(at[c]);
      }
    } else if (const int64_t c = r % a.channels; c >= first && c < last) {
      for (int64_t i = 0; i < a.size; ++i) {
        sums[c] += static_cast<double>(from[i]);
        products[c] += static_cast<double>(from[i]) * static_cast<double>(at[i]);
      }
    }
  }
}

absl::Status RunGradient(const AffineChannel& a, const Gradients& g, const KernelArgs& args) {
  const float *x = static_cast<const float*>(args.inputs[a.x]), *gradient = static_cast<const float*>(args.inputs[g.from]);
  const float* scale = static_cast<const float*>(args.inputs[a.scale]);
  const auto out = [&args](int i) { return i < 0 ? nullptr : static_cast<float*>(args.outputs[i]); };
  if (float* to = out(g.x)) {
    ParallelFor(args.threads, a.rows, std::max<int64_t>(1, (1 << 14) / a.size), [&](int64_t first, int64_t last) {
      for (int64_t i = first * a.size; i < last * a.size; ++i)
        to[i] = gradient[i] * scale[a.columns ? i % a.size : i / a.size % a.channels];
    });
  }
  float *const to_scale = out(g.scale), *const to_bias = out(g.bias);
  if (to_scale == nullptr && to_bias == nullptr) return absl::OkStatus();
  double *const sums = static_cast<double*>(args.workspace), *const products = sums + a.channels;
  ParallelFor(args.threads, a.channels, std::max<int64_t>(1, (1 << 14) * a.channels / (a.rows * a.size)), [&](int64_t first, int64_t last) {
    SumChannels(a, x, gradient, first, last, sums, products);
    for (int64_t c = first; c < last; ++c) {
      if (to_scale != nullptr) to_scale[c] = static_cast<float>(products[c]);
      if (to_bias != nullptr) to_bias[c] = static_cast<float>(sums[c]);
    }
  });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32}));
  const bool last = view.op().GetString("data_layout", "AnyLayout") != "NCHW";
  AffineChannel a{.channels = last ? x.dims.back() : x.dims[1], .x = view.In("X"), .scale = view.In("Scale"), .bias = view.In("Bias")};
  const int64_t total = x.NumElements();
  if (total == 0) return view.Unsupported("an operand without elements has no cpu kernel");
  a.columns = last || total == x.dims[0] * a.channels;
  a.size = a.columns ? a.channels : total / x.dims[0] / a.channels;
  a.rows = total / a.size;
  const Gradients g{view.In("Out@GRAD"), view.Out("X@GRAD"), view.Out("Scale@GRAD"), view.Out("Bias@GRAD")};
  KernelTraits traits;
  traits.workspace_bytes = 2 * a.channels * static_cast<int64_t>(sizeof(double));
  return MakeLambdaKernel(std::move(traits), [a, g](const KernelArgs& args) { return RunGradient(a, g, args); });
}

}  // namespace

absl::Status RegisterAffineChannel(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"affine_channel_grad", &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16}}));
  return registry->Add({"affine_channel", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kFollows});
}

}  // namespace ampc
