// grid_sampler and its gradients: X at given positions. Positions and weights of a block of results are computed once and used for every
// channel.
#include <algorithm>
#include <array>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"
#include "kernels/spec/sampling/grid_spec.h"

namespace ampc {
namespace {

// Flat operands.
struct Sampler : GridSampler {
  int x = 0, grid = 1;
};

constexpr int64_t kBlock = 64;

template <typename T>
void RunBlock(const Sampler& s, const KernelArgs& args, int64_t image, int64_t first, int64_t count) {
  GridCorner<T> corners[kBlock][kMaxGridCorners];
  int used = 1;
  const T* at = static_cast<const T*>(args.inputs[s.grid]) + (image * s.points + first) * s.rank;
  for (int64_t i = 0; i < count; ++i, at += s.rank) {
    const int n = GridCorners(s, at, corners[i]);
    std::fill(corners[i] + n, corners[i] + kMaxGridCorners, GridCorner<T>{0, 0});
    used = std::max(used, n);
  }
  for (int64_t c = 0; c < s.channels; ++c) {
    const T* plane = static_cast<const T*>(args.inputs[s.x]) + (image * s.channels + c) * s.plane;
    T* out = static_cast<T*>(args.outputs[0]) + (image * s.channels + c) * s.points + first;
    for (int64_t i = 0; i < count; ++i) {
      T sum = 0;
      for (int k = 0; k < used; ++k) {
        const GridCorner<T>& corner = corners[i][k];
        if (corner.weight != 0) sum += plane[corner.offset] * corner.weight;
      }
      out[i] = sum;
    }
  }
}

template <typename T>
std::unique_ptr<Kernel> MakeFor(const Sampler& s, KernelTraits traits) {
  return MakeLambdaKernel(std::move(traits), [s](const KernelArgs& args) {
    const int64_t blocks = (s.points + kBlock - 1) / kBlock;
    ParallelFor(args.threads, s.images * blocks, std::max<int64_t>(1, 64 / s.channels), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b % blocks * kBlock;
        RunBlock<T>(s, args, b / blocks, first, std::min(kBlock, s.points - first));
      }
    });
    return absl::OkStatus();
  });
}

constexpr int64_t kChannels = 16;  // whose positions are computed together

// Channels [first, last) of one image: X's gradient, one position after the other.
template <typename T>
void SpreadPoints(const Sampler& s, const T* grid, const T* gradient, int64_t channels, T* to) {
  std::fill_n(to, channels * s.plane, T(0));
  GridNeighbours<T> axes[3];
  for (int64_t i = 0; i < s.points; ++i) {
    if (!FindGridNeighbours(s, grid + i * s.rank, axes)) continue;
    for (int corner = 0; corner < 1 << s.rank; ++corner) {
      const GridTerm<T> term = GridTermOf(s, axes, corner);
      for (int64_t c = 0; term.weight != 0 && c < channels; ++c) to[c * s.plane + term.offset] += term.weight * gradient[c * s.points + i];
    }
  }
}

// The gradient of one position: the sum over channels of X's slope there.
template <typename T>
void SumSlopes(const Sampler& s, const T* at, const T* x, const T* gradient, T* to) {
  GridNeighbours<T> axes[3];
  std::array<T, 3> sum = {};
  if (!s.nearest && FindGridNeighbours(s, at, axes)) {
    for (int corner = 0; corner < 1 << s.rank; ++corner) {
      const GridTerm<T> term = GridTermOf(s, axes, corner);
      T value = 0;
      for (int64_t c = 0; c < s.channels; ++c) value += x[c * s.plane + term.offset] * gradient[c * s.points];
      for (int k = 0; k < s.rank; ++k) sum[k] += term.growth[k] * value;
    }
  }
  std::copy_n(sum.begin(), s.rank, to);
}

// Flat; -1: not wanted.
struct Gradients {
  int from, x, grid;
};

template <typename T>
std::unique_ptr<Kernel> MakeGradientFor(const Sampler& s, const Gradients& g) {
  return MakeLambdaKernel({}, [s, g](const KernelArgs& args) {
    const auto in = [&args](int i) { return static_cast<const T*>(args.inputs[i]); };
    const int64_t groups = (s.channels + kChannels - 1) / kChannels, image = s.channels * s.points;
    if (g.x >= 0) {
      ParallelFor(args.threads, s.images * groups, 1, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const int64_t n = i / groups, c = i % groups * kChannels;
          SpreadPoints(s, in(s.grid) + n * s.points * s.rank, in(g.from) + n * image + c * s.points, std::min(kChannels, s.channels - c),
                       static_cast<T*>(args.outputs[g.x]) + (n * s.channels + c) * s.plane);
        }
      });
    }
    if (g.grid < 0) return absl::OkStatus();
    ParallelFor(args.threads, s.images * s.points, 64, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t n = i / s.points;
        SumSlopes(s, in(s.grid) + i * s.rank, in(s.x) + n * s.channels * s.plane, in(g.from) + n * image + i % s.points,
                  static_cast<T*>(args.outputs[g.grid]) + i * s.rank);
      }
    });
    return absl::OkStatus();
  });
}

// The forward op, or its gradient where that is given.
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType dtype = StorageType(spec.outputs[0].dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(dtype, {DType::kF32, DType::kF64}));
  if (StorageType(view.InDesc("Grid").dtype) != dtype) return view.Unsupported("the cpu kernel needs Grid in the type of X");
  KernelTraits traits;
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel(traits, [](const KernelArgs&) { return absl::OkStatus(); });
  Sampler s;
  AMPC_ASSIGN_OR_RETURN(static_cast<GridSampler&>(s), ReadGridSampler(view));
  s.x = view.In("X");
  s.grid = view.In("Grid");
  if (const int from = view.In("Output@GRAD"); from >= 0) {
    const Gradients g{from, view.Out("X@GRAD"), view.Out("Grid@GRAD")};
    return dtype == DType::kF64 ? MakeGradientFor<double>(s, g) : MakeGradientFor<float>(s, g);
  }
  return dtype == DType::kF64 ? MakeFor<double>(s, std::move(traits)) : MakeFor<float>(s, std::move(traits));
}

}  // namespace

absl::Status RegisterGridSampler(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"grid_sampler_grad", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  return registry->Add({"grid_sampler", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc
