// layer_norm: each row minus its mean, by its standard deviation, times Scale, plus Bias; statistics summed in fixed order.
#include <algorithm>
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/parallel.h"
#include "kernels/round.h"
#include "kernels/spec/norm_spec.h"

namespace ampc {
namespace {

struct LayerNorm : LayerNormShape {
  DType type = DType::kF32;
  // Flat positions; -1 when absent.
  int x = 0, scale = -1, bias = -1, y = 0, mean = -1, variance = -1;
};

void RunRow(const LayerNorm& n, int64_t row, const KernelArgs& args) {
  const auto in = [&args](int i) { return i < 0 ? nullptr : static_cast<const float*>(args.inputs[i]); };
  const float* x = in(n.x) + row * n.size;
  const float mean = static_cast<float>(simd::SumRow(x, n.size) / static_cast<double>(n.size));
  const double variance = simd::SquaredDistance(x, mean, n.size) / static_cast<double>(n.size);
  const float inverse = static_cast<float>(1.0 / std::sqrt(variance + n.epsilon));
  float* y = static_cast<float*>(args.outputs[n.y]) + row * n.size;
  simd::NormalizeRow(x, {mean, inverse, 0}, in(n.scale), in(n.bias), y, n.size);
  RoundTo(n.type, y, n.size);  // while it is in the first-level cache
  if (n.mean >= 0) static_cast<float*>(args.outputs[n.mean])[row] = mean;
  if (n.variance >= 0) static_cast<float*>(args.outputs[n.variance])[row] = static_cast<float>(variance);
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  LayerNorm n;
  static_cast<LayerNormShape&>(n) = ReadLayerNorm(view.op(), view.InDesc("X").dims);
  n.x = view.In("X");
  n.scale = view.In("Scale");
  n.bias = view.In("Bias");
  n.y = view.Out("Y");
  n.mean = view.Out("Mean");
  n.variance = view.Out("Variance");
  n.type = spec.outputs[n.y].dtype;
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  traits.in_place_input = n.y == 0 ? n.x : -1;
  traits.rounds_results =
      std::none_of(spec.outputs.begin() + 1, spec.outputs.end(), [](const TensorDesc& t) { return IsLowPrecision(t.dtype); });
  return MakeLambdaKernel(traits, [n](const KernelArgs& args) {
    ParallelFor(args.threads, n.rows, std::max<int64_t>(1, (1 << 12) / std::max<int64_t>(1, n.size)), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) RunRow(n, row, args);
    });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterLayerNorm(KernelRegistry* registry) {
  return registry->Add({"layer_norm", &Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc
