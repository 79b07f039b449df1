// The gradient of layer_norm. Of a row with g' = g * Scale, n its size: X@GRAD = inverse * (g' - sum(g') / n - (x - mean) * inverse^2 *
// sum(g' * (x - mean)) / n); Scale@GRAD and Bias@GRAD are the sums of g * (x - mean) * inverse and of g over the rows. Those sums are taken
// in float over 64 rows and in double over them, in a number of blocks that depends on the shape only.
#include <algorithm>
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/gradient_rows.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/parallel.h"
#include "kernels/spec/norm_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;
constexpr int64_t kMaxBlocks = 64;

struct LayerNorm : LayerNormShape {
  int64_t block_rows = 1, blocks = 1;
  int x, scale, mean, variance, g, dx, dscale, dbias;  // flat positions; -1 when absent
  bool sums() const { return dscale >= 0 || dbias >= 0; }
};

const float* In(const KernelArgs& args, int i) { return i < 0 ? nullptr : static_cast<const float*>(args.inputs[i]); }
float* Out(const KernelArgs& args, int i) { return i < 0 ? nullptr : static_cast<float*>(args.outputs[i]); }

// Sums over rows of a block: [scale, bias][size].
struct Sums {
  double* total = nullptr;
  float* part = nullptr;
};

Sums SumsOf(const LayerNorm& n, void* workspace, int64_t block) {
  if (!n.sums()) return {};
  double* totals = static_cast<double*>(workspace);
  float* parts = reinterpret_cast<float*>(totals + n.blocks * 2 * n.size);
  return {totals + block * 2 * n.size, parts + block * 2 * n.size};
}

void RunRow(const LayerNorm& n, int64_t row, const KernelArgs& args, const Sums& sums) {
  const float *x = In(args, n.x) + row * n.size, *g = In(args, n.g) + row * n.size;
  const double count = static_cast<double>(n.size);
  const float mean = n.mean >= 0 ? In(args, n.mean)[row] : static_cast<float>(simd::SumRow(x, n.size) / count);
  const double variance = n.variance >= 0 ? In(args, n.variance)[row] : simd::SquaredDistance(x, mean, n.size) / count;
  const double inverse = 1.0 / std::sqrt(variance + n.epsilon);
  float* dscale = Out(args, n.dscale) == nullptr ? nullptr : sums.part;
  float* dbias = Out(args, n.dbias) == nullptr ? nullptr : sums.part + n.size;
  const float* scale = In(args, n.scale);
  const simd::ProductSums s = simd::AddProducts(x, mean, static_cast<float>(inverse), g, scale, dscale, dbias, n.size);
  float* dx = Out(args, n.dx);
  if (dx == nullptr) return;
  const simd::Combination with{mean, static_cast<float>(inverse), static_cast<float>(-inverse * inverse * inverse * s.gx / count),
                               static_cast<float>(-inverse * s.g / count)};
  simd::CombineRow(x, g, scale, with, dx + row * n.size, n.size);
}

void RunBlock(const LayerNorm& n, int64_t block, const KernelArgs& args) {
  const Sums sums = SumsOf(n, args.workspace, block);
  const int64_t end = std::min(n.rows, (block + 1) * n.block_rows);
  if (sums.total != nullptr) std::fill(sums.total, sums.total + 2 * n.size, 0.0);
  for (int64_t first = block * n.block_rows; first < end; first += simd::kProductRows) {
    if (sums.part != nullptr) std::fill(sums.part, sums.part + 2 * n.size, 0.0f);
    for (int64_t row = first; row < std::min(end, first + simd::kProductRows); ++row) RunRow(n, row, args, sums);
    for (int64_t i = 0; sums.part != nullptr && i < 2 * n.size; ++i) sums.total[i] += static_cast<double>(sums.part[i]);
  }
}

void WriteSums(const LayerNorm& n, const KernelArgs& args) {
  float* const out[] = {Out(args, n.dscale), Out(args, n.dbias)};
  ParallelFor(args.threads, n.size, std::max<int64_t>(1, kGrain / n.blocks), [&](int64_t first, int64_t last) {
    for (int k = 0; k < 2; ++k) {
      for (int64_t i = first; out[k] != nullptr && i < last; ++i) {
        double sum = 0;
        for (int64_t b = 0; b < n.blocks; ++b) sum += SumsOf(n, args.workspace, b).total[k * n.size + i];
        out[k][i] = static_cast<float>(sum);
      }
    }
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32}));
  LayerNorm n;
  static_cast<LayerNormShape&>(n) = ReadLayerNorm(view.op(), x.dims);
  n.x = view.In("X");
  n.scale = view.In("Scale");
  n.mean = view.In("Mean");
  n.variance = view.In("Variance");
  n.g = view.In("Y@GRAD");
  n.dx = view.Out("X@GRAD");
  n.dscale = view.Out("Scale@GRAD");
  n.dbias = view.Out("Bias@GRAD");
  n.block_rows = std::max<int64_t>(std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n.size)), (n.rows + kMaxBlocks - 1) / kMaxBlocks);
  n.blocks = std::max<int64_t>(1, (n.rows + n.block_rows - 1) / n.block_rows);
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  if (n.dx == 0) traits.in_place_input = n.g;
  if (n.sums()) traits.workspace_bytes = n.blocks * 2 * n.size * static_cast<int64_t>(sizeof(double) + sizeof(float));
  return MakeLambdaKernel(traits, [n](const KernelArgs& args) {
    ParallelFor(args.threads, n.blocks, 1, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) RunBlock(n, b, args);
    });
    if (n.sums()) WriteSums(n, args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterLayerNormGradient(KernelRegistry* registry) {
  return registry->Add({"layer_norm_grad", &Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc
