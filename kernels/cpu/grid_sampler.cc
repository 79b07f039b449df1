// grid_sampler and its gradients: X at given positions. Positions and weights of a block of results are computed once and used for every
// channel.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

enum class Outside : uint8_t { kZeros, kBorder, kReflection };

struct Sampler {
  int rank = 2;                                 // spatial dimensions
  std::array<int64_t, 3> in = {1, 1, 1};        // sizes of X along x, y, z: innermost first
  std::array<int64_t, 3> step = {1, 1, 1};      // elements from one position to the next
  int64_t images = 0, channels = 0, plane = 1;  // plane: elements of a channel of X
  int64_t points = 1;                           // of an image of the result
  bool nearest = false, align_corners = true;
  Outside outside = Outside::kZeros;
  int x = 0, grid = 1;
};

constexpr int64_t kBlock = 64;

template <typename T>
struct Corner {
  int64_t offset;  // in a plane of X
  T weight;        // 0 where nothing is sampled
};

// A coordinate from [-1, 1] to positions of X. NaN stays NaN; an infinite one lies far outside.
template <typename T>
T ToPosition(const Sampler& s, T at, int64_t size) {
  const T last = static_cast<T>(size - 1), far = static_cast<T>(1e9);
  T p = s.align_corners ? (at + 1) * last / 2 : (at + 1) * (last + 1) / 2 - T(0.5);
  p = p < -far ? -far : p > far ? far : p;
  if (s.outside == Outside::kBorder) return p < 0 ? 0 : p > last ? last : p;
  if (s.outside == Outside::kZeros) return p;
  if (s.align_corners && size == 1) return p != p ? p : 0;
  const T shift = s.align_corners ? T(0) : T(0.5), period = (last + 2 * shift) * 2;
  const T distance = std::abs(p + shift);
  const T rest = distance - std::floor(distance / period) * period;
  p = (period - rest < rest ? period - rest : rest) - shift;
  return p < 0 ? 0 : p > last ? last : p;
}

// The corners around a position: one, or 2^rank.
template <typename T>
int Corners(const Sampler& s, const T* at, Corner<T>* corners) {
  int count = 1;
  corners[0] = {0, 1};
  for (int k = 0; k < s.rank; ++k) {
    const T p = ToPosition(s, at[k], s.in[k]);
    if (p != p) {
      corners[0] = {0, std::numeric_limits<T>::quiet_NaN()};
      return 1;
    }
    const T low = s.nearest ? std::round(p) : std::floor(p);
    const auto place = [&](Corner<T> c, int64_t i, T weight) -> Corner<T> {
      if (i < 0 || i >= s.in[k]) return {0, 0};
      return {c.offset + i * s.step[k], c.weight * weight};
    };
    const int64_t i = static_cast<int64_t>(low);
    for (int c = 0; c < count; ++c) {
      if (!s.nearest) corners[count + c] = place(corners[c], i + 1, p - low);
      corners[c] = place(corners[c], i, s.nearest ? 1 : low + 1 - p);
    }
    if (!s.nearest) count *= 2;
  }
  return count;
}

template <typename T>
void RunBlock(const Sampler& s, const KernelArgs& args, int64_t image, int64_t first, int64_t count) {
  Corner<T> corners[kBlock][8];
  int used = 1;
  const T* at = static_cast<const T*>(args.inputs[s.grid]) + (image * s.points + first) * s.rank;
  for (int64_t i = 0; i < count; ++i, at += s.rank) {
    const int n = Corners(s, at, corners[i]);
    std::fill(corners[i] + n, corners[i] + 8, Corner<T>{0, 0});
    used = std::max(used, n);
  }
  for (int64_t c = 0; c < s.channels; ++c) {
    const T* plane = static_cast<const T*>(args.inputs[s.x]) + (image * s.channels + c) * s.plane;
    T* out = static_cast<T*>(args.outputs[0]) + (image * s.channels + c) * s.points + first;
    for (int64_t i = 0; i < count; ++i) {
      T sum = 0;
      for (int k = 0; k < used; ++k) {
        const Corner<T>& corner = corners[i][k];
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

// Along one axis: the two neighbours of a position, their weights, and how the second's weight grows with the coordinate (the first's
// falls as much). Neighbours outside have no weight and do not grow.
template <typename T>
struct Neighbours {
  std::array<int64_t, 2> offset = {0, 0};
  std::array<T, 2> weight = {0, 0}, growth = {0, 0};
};

// The derivative of ToPosition: 0 where the position is held at an edge, less than 0 where the coordinate runs backwards.
template <typename T>
T SlopeOfPosition(const Sampler& s, T at, int64_t size) {
  const T last = static_cast<T>(size - 1), slope = s.align_corners ? last / 2 : (last + 1) / 2;
  const T p = s.align_corners ? (at + 1) * last / 2 : (at + 1) * (last + 1) / 2 - T(0.5);
  if (s.outside == Outside::kZeros) return slope;
  if (s.outside == Outside::kBorder) return p < 0 || p > last ? T(0) : slope;
  if (s.align_corners && size == 1) return 0;
  const T shift = s.align_corners ? T(0) : T(0.5), period = (last + 2 * shift) * 2;
  const T distance = std::abs(p + shift), rest = distance - std::floor(distance / period) * period;
  const T folded = (period - rest < rest ? period - rest : rest) - shift;
  if (folded < 0 || folded > last) return 0;
  return (p + shift < 0) == (period - rest < rest) ? slope : -slope;
}

template <typename T>
bool FindNeighbours(const Sampler& s, const T* at, std::array<Neighbours<T>, 3>& axes) {
  for (int k = 0; k < s.rank; ++k) {
    const T p = ToPosition(s, at[k], s.in[k]);
    if (p != p) return false;  // X counts for nothing there
    const T low = s.nearest ? std::round(p) : std::floor(p);
    const T slope = s.nearest ? T(0) : SlopeOfPosition(s, at[k], s.in[k]);
    axes[k] = {};
    for (int side = 0; side < (s.nearest ? 1 : 2); ++side) {
      const int64_t i = static_cast<int64_t>(low) + side;
      if (i < 0 || i >= s.in[k]) continue;
      axes[k].offset[side] = i * s.step[k];
      axes[k].weight[side] = s.nearest ? T(1) : side == 0 ? low + 1 - p : p - low;
      axes[k].growth[side] = side == 0 ? -slope : slope;
    }
  }
  return true;
}

// Calls corner(offset, weight, growths by axis) for every corner of a position.
template <typename T, typename F>
void ForEachCorner(const Sampler& s, const std::array<Neighbours<T>, 3>& axes, F corner) {
  for (int bits = 0; bits < 1 << s.rank; ++bits) {
    int64_t offset = 0;
    T weight = 1;
    std::array<T, 3> growth = {1, 1, 1};
    for (int k = 0; k < s.rank; ++k) {
      const int side = bits >> k & 1;
      offset += axes[k].offset[side];
      weight *= axes[k].weight[side];
      for (int j = 0; j < s.rank; ++j) growth[j] *= j == k ? axes[k].growth[side] : axes[k].weight[side];
    }
    corner(offset, weight, growth);
  }
}

constexpr int64_t kChannels = 16;  // whose positions are computed together

// Channels [first, last) of one image: X's gradient, one position after the other.
template <typename T>
void SpreadPoints(const Sampler& s, const T* grid, const T* gradient, int64_t channels, T* to) {
  std::fill_n(to, channels * s.plane, T(0));
  std::array<Neighbours<T>, 3> axes;
  for (int64_t i = 0; i < s.points; ++i) {
    if (!FindNeighbours(s, grid + i * s.rank, axes)) continue;
    ForEachCorner<T>(s, axes, [&](int64_t offset, T weight, const std::array<T, 3>&) {
      for (int64_t c = 0; weight != 0 && c < channels; ++c) to[c * s.plane + offset] += weight * gradient[c * s.points + i];
    });
  }
}

// The gradient of one position: the sum over channels of X's slope there.
template <typename T>
void SumSlopes(const Sampler& s, const T* at, const T* x, const T* gradient, T* to) {
  std::array<Neighbours<T>, 3> axes;
  std::array<T, 3> sum = {};
  if (!s.nearest && FindNeighbours(s, at, axes)) {
    ForEachCorner<T>(s, axes, [&](int64_t offset, T, const std::array<T, 3>& growth) {
      T value = 0;
      for (int64_t c = 0; c < s.channels; ++c) value += x[c * s.plane + offset] * gradient[c * s.points];
      for (int k = 0; k < s.rank; ++k) sum[k] += growth[k] * value;
    });
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
  const Dims &x = view.InDesc("X").dims, &grid = view.InDesc("Grid").dims;
  const DType dtype = StorageType(spec.outputs[0].dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(dtype, {DType::kF32, DType::kF64}));
  if (StorageType(view.InDesc("Grid").dtype) != dtype) return view.Unsupported("the cpu kernel needs Grid in the type of X");
  Sampler s{.rank = static_cast<int>(x.size()) - 2, .images = x[0], .channels = x[1], .x = view.In("X"), .grid = view.In("Grid")};
  for (int k = 0; k < s.rank; ++k) {
    s.in[k] = x[x.size() - 1 - k];
    s.step[k] = s.plane;
    s.plane *= s.in[k];
    s.points *= grid[1 + k];
  }
  s.nearest = view.op().GetString("mode") == "nearest";
  s.align_corners = view.op().GetBool("align_corners", true);
  const std::string outside = view.op().GetString("padding_mode");
  s.outside = outside == "border" ? Outside::kBorder : outside == "reflection" ? Outside::kReflection : Outside::kZeros;
  KernelTraits traits;
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel(traits, [](const KernelArgs&) { return absl::OkStatus(); });
  if (s.plane == 0) return view.Unsupported("there is no position to sample");
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
