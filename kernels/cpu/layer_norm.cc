// layer_norm: each row minus its mean, by its standard deviation, times Scale, plus Bias; statistics summed in fixed order.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/halves.h"
#include "kernels/parallel.h"
#include "kernels/round.h"
#include "kernels/spec/norm_spec.h"

namespace ampc {
namespace {

constexpr int64_t kMostWidened = 1 << 13;  // elements of a row that is widened by itself

struct LayerNorm : LayerNormShape {
  DType type = DType::kF32;
  DType from = DType::kF32, to = DType::kF32;  // storages of X and Y
  // Flat positions; -1 when absent.
  int x = 0, scale = -1, bias = -1, y = 0, mean = -1, variance = -1;
};

// x and y: the row's operand and result.
void RunRow(const LayerNorm& n, int64_t row, const float* x, float* y, const KernelArgs& args) {
  const auto in = [&args](int i) { return i < 0 ? nullptr : static_cast<const float*>(args.inputs[i]); };
  const float mean = static_cast<float>(simd::SumRow(x, n.size) / static_cast<double>(n.size));
  const double variance = simd::SquaredDistance(x, mean, n.size) / static_cast<double>(n.size);
  const float inverse = static_cast<float>(1.0 / std::sqrt(variance + n.epsilon));
  simd::NormalizeRow(x, {mean, inverse, 0}, in(n.scale), in(n.bias), y, n.size);
  if (n.mean >= 0) static_cast<float*>(args.outputs[n.mean])[row] = mean;
  if (n.variance >= 0) static_cast<float*>(args.outputs[n.variance])[row] = static_cast<float>(variance);
}

// Rows [first, last); short ones are widened and rounded several at once.
void RunRows(const LayerNorm& n, int64_t first, int64_t last, const KernelArgs& args) {
  float tile[kMostWidened];
  const int64_t step = std::max<int64_t>(1, kHalfTile / std::max<int64_t>(1, n.size));
  for (int64_t r = first; r < last; r += step) {
    const int64_t at = r * n.size, rows = std::min(step, last - r);
    float* const y = RoomAt(args.outputs[n.y], n.to, at, tile);
    const float* const x = FloatsAt(args.inputs[n.x], n.from, at, rows * n.size, y);
    for (int64_t i = 0; i < rows; ++i) RunRow(n, r + i, x + i * n.size, y + i * n.size, args);
    if (n.to == DType::kF32) RoundTo(n.type, y, rows * n.size);  // while they are in the first-level cache
    StoreFloats(y, n.to, at, rows * n.size, args.outputs[n.y]);
  }
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
  if (HasHalves(spec)) {
    KernelSpec rest = spec;  // without the two that this kernel takes as they are
    rest.inputs[n.x].half = rest.outputs[n.y].half = false;
    if (n.size > kMostWidened || HasHalves(rest)) {
      AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, Make(InFloats(spec)));
      return MakeWidened(std::move(kernel), spec);
    }
    n.from = spec.inputs[n.x].storage();
    n.to = spec.outputs[n.y].storage();
  }
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  traits.in_place_input = n.y == 0 ? n.x : -1;
  traits.rounds_results =
      std::none_of(spec.outputs.begin() + 1, spec.outputs.end(), [](const TensorDesc& t) { return IsLowPrecision(t.dtype); });
  return MakeLambdaKernel(traits, [n](const KernelArgs& args) {
    ParallelFor(args.threads, n.rows, std::max<int64_t>(1, (1 << 12) / std::max<int64_t>(1, n.size)),
                [&](int64_t first, int64_t last) { RunRows(n, first, last, args); });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterLayerNorm(KernelRegistry* registry) {
  return registry->Add(
      {"layer_norm", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kPlainOnly, nullptr, HalfSupport::kEach});
}

}  // namespace ampc
