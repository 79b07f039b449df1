// affine_grid and its gradient: an affine map of the positions of an image or a volume, which run from -1 to 1 along each axis.
#include <algorithm>
#include <array>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// Positions along an axis; with align_corners the first and last lie at -1 and 1, else at the centres of the outer pixels.
template <typename T>
std::vector<T> Positions(int64_t n, bool align_corners) {
  std::vector<T> at(n);
  const T step = align_corners ? T(2) / static_cast<T>(n - 1) : T(2) / static_cast<T>(n);
  const T start = align_corners ? T(-1) : -static_cast<T>(n - 1) / static_cast<T>(n);
  for (int64_t i = 0; i < n; ++i) at[i] = i == 0 ? start : start + static_cast<T>(i) * step;
  return at;
}

template <typename T>
std::unique_ptr<Kernel> MakeFor(const Dims& out, bool align_corners) {
  const int rank = static_cast<int>(out.back());  // 2: x, y; 3: x, y, z
  std::array<std::vector<T>, 3> axes;             // innermost first
  int64_t points = 1;
  for (int i = 0; i < rank; ++i) {
    axes[i] = Positions<T>(out[rank - i], align_corners);
    points *= out[rank - i];
  }
  return MakeLambdaKernel({}, [rank, axes, points, images = out[0]](const KernelArgs& args) {
    ParallelFor(args.threads, images * points, 1 << 12, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const T* theta = static_cast<const T*>(args.inputs[0]) + i / points * rank * (rank + 1);
        T* to = static_cast<T*>(args.outputs[0]) + i * rank;
        std::array<T, 3> at = {};
        int64_t rest = i % points;
        for (int k = 0; k < rank; ++k) {
          const int64_t size = static_cast<int64_t>(axes[k].size());
          at[k] = axes[k][rest % size];
          rest /= size;
        }
        for (int row = 0; row < rank; ++row, theta += rank + 1) {
          T sum = 0;
          for (int k = 0; k < rank; ++k) sum += theta[k] * at[k];
          to[row] = sum + theta[rank];
        }
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64}));
  const bool corners = view.op().GetBool("align_corners", true);
  return out.dtype == DType::kF64 ? MakeFor<double>(out.dims, corners) : MakeFor<float>(out.dims, corners);
}

// Of one row of one image's matrix: the sum over its positions.
template <typename T>
std::unique_ptr<Kernel> MakeGradientFor(const Dims& grid, bool align_corners, int in) {
  const int rank = static_cast<int>(grid.back());
  std::array<std::vector<T>, 3> axes;
  int64_t points = 1;
  for (int i = 0; i < rank; ++i) {
    axes[i] = Positions<T>(grid[rank - i], align_corners);
    points *= grid[rank - i];
  }
  return MakeLambdaKernel({}, [rank, axes, points, in, rows = grid[0] * rank](const KernelArgs& args) {
    ParallelFor(args.threads, rows, std::max<int64_t>(1, (1 << 12) / std::max<int64_t>(1, points)), [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        const T* from = static_cast<const T*>(args.inputs[in]) + r / rank * points * rank + r % rank;
        std::array<double, 4> sum = {};
        for (int64_t i = 0; i < points; ++i) {
          const double gradient = static_cast<double>(from[i * rank]);
          int64_t rest = i;
          for (int k = 0; k < rank; ++k) {
            const int64_t size = static_cast<int64_t>(axes[k].size());
            sum[k] += gradient * static_cast<double>(axes[k][rest % size]);
            rest /= size;
          }
          sum[rank] += gradient;
        }
        for (int k = 0; k <= rank; ++k) static_cast<T*>(args.outputs[0])[r * (rank + 1) + k] = static_cast<T>(sum[k]);
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& grid = view.InDesc("Output@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(grid.dtype, {DType::kF32, DType::kF64}));
  const bool corners = view.op().GetBool("align_corners", true);
  const int in = view.In("Output@GRAD");
  return grid.dtype == DType::kF64 ? MakeGradientFor<double>(grid.dims, corners, in) : MakeGradientFor<float>(grid.dims, corners, in);
}

}  // namespace

absl::Status RegisterAffineGrid(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"affine_grid_grad", &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  return registry->Add({"affine_grid", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc
