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

}  // namespace

absl::Status RegisterAffineChannel(KernelRegistry* registry) {
  return registry->Add({"affine_channel", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kFollows});
}

}  // namespace ampc
