// grid_sampler: X at given positions. Positions and weights of a block of results are computed once and used for every channel.
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
  return dtype == DType::kF64 ? MakeFor<double>(s, std::move(traits)) : MakeFor<float>(s, std::move(traits));
}

}  // namespace

absl::Status RegisterGridSampler(KernelRegistry* registry) {
  return registry->Add({"grid_sampler", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc
