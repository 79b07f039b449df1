#include "kernels/cuda/optimizer/norms.h"

#include <cmath>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/multi_tensor/chunks.h"
#include "kernels/cuda/multi_tensor/vectors.h"

namespace ampc::cuda {
namespace {

constexpr int kRun = 4;

template <class T>
AMPC_HOST_DEVICE inline double SquaresOfRun(const T* x, int64_t at, int64_t n, bool aligned) {
  ComputeType<T> sum = 0;
  if (aligned && at + kRun <= n) {
    ComputeType<T> values[kRun];
    LoadRun<kRun>(x + at, values);
    for (const ComputeType<T> v : values) sum += v * v;
  } else {
    for (int64_t k = at; k < n && k < at + kRun; ++k) sum += Load(x[k]) * Load(x[k]);
  }
  return sum;
}

// The sum of each chunk behind the totals of the tensors.
struct ChunkSquares {
  double* workspace;
  int64_t tensors;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const NormTensor& t, const TensorPlace& place, int64_t begin, int64_t n) const {
    double* to = workspace + tensors + place.first_chunk + begin / kChunk;
    switch (t.type) {
      case DType::kF16: return Run<Half>(team, t, begin, n, to);
      case DType::kBF16: return Run<BFloat16>(team, t, begin, n, to);
      case DType::kF64: return Run<double>(team, t, begin, n, to);
      default: return Run<float>(team, t, begin, n, to);
    }
  }
  template <class T, class Team>
  AMPC_DEVICE void Run(Team& team, const NormTensor& t, int64_t begin, int64_t n, double* to) const {
    const T* x = static_cast<const T*>(t.x) + begin;
    const bool aligned = IsAligned(x);
    const double sum = team.Reduce((n + kRun - 1) / kRun, 0.0, [=](int64_t i) { return SquaresOfRun(x, i * kRun, n, aligned); }, Plus());
    team.Once([=] { *to = sum; });
  }
};

AMPC_HOST_DEVICE inline void StoreAs(void* to, DType type, double value) {
  switch (type) {
    case DType::kF16: return Store(*static_cast<Half*>(to), static_cast<float>(value));
    case DType::kBF16: return Store(*static_cast<BFloat16*>(to), static_cast<float>(value));
    case DType::kF64: *static_cast<double*>(to) = value; return;
    default: *static_cast<float*>(to) = static_cast<float>(value);
  }
}

struct TensorSquares {
  double* workspace;
  int64_t tensors;
  bool stores;  // the result, else only the total

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const NormTensor& t, const TensorPlace& place) const {
    const double* sums = workspace + tensors + place.first_chunk;
    const double total = team.Reduce(
        ChunksOf(t.elements), 0.0, [=](int64_t i) { return sums[i]; }, Plus());
    double* to = workspace + place.index;
    const bool store = stores;
    void* out = t.out;
    const DType type = t.out_type;
    team.Once([=] {
      *to = total;
      if (store) StoreAs(out, type, total);
    });
  }
};

struct Scale {
  const double* totals;
  double most;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const NormTensor& t, const TensorPlace& place, int64_t begin, int64_t n) const {
    switch (t.type) {
      case DType::kF16: return Run<Half>(team, t, place, begin, n);
      case DType::kBF16: return Run<BFloat16>(team, t, place, begin, n);
      case DType::kF64: return Run<double>(team, t, place, begin, n);
      default: return Run<float>(team, t, place, begin, n);
    }
  }
  template <class T, class Team>
  AMPC_DEVICE void Run(Team& team, const NormTensor& t, const TensorPlace& place, int64_t begin, int64_t n) const {
    using C = ComputeType<T>;
    const C norm = static_cast<C>(std::sqrt(totals[place.index])), limit = static_cast<C>(most);
    const C factor = norm <= limit ? C(1) : limit / norm;
    const T* x = static_cast<const T*>(t.x) + begin;
    T* out = static_cast<T*>(t.out) + begin;
    const bool aligned = IsAligned(x) && IsAligned(out);
    team.For((n + kRun - 1) / kRun, [=](int64_t i) {
      const int64_t at = i * kRun;
      if (aligned && at + kRun <= n) {
        C values[kRun];
        LoadRun<kRun>(x + at, values);
        for (C& v : values) v *= factor;
        StoreRun<kRun>(out + at, values);
      } else {
        for (int64_t k = at; k < n && k < at + kRun; ++k) Store(out[k], Load(x[k]) * factor);
      }
    });
  }
};

int LaunchNorms(void* stream, const NormTensor* tensors, int64_t n, double* workspace, bool stores) {
  const int code = ForEachChunk(stream, tensors, n, ChunkSquares{workspace, n});
  return code != 0 ? code : ForEachTensor(stream, tensors, n, TensorSquares{workspace, n, stores});
}

}  // namespace

int LaunchSquaredNorms(void* stream, const NormTensor* tensors, int64_t n, double* workspace) {
  return LaunchNorms(stream, tensors, n, workspace, true);
}

int LaunchClipByNorm(void* stream, const NormTensor* tensors, int64_t n, double most, double* workspace) {
  const int code = LaunchNorms(stream, tensors, n, workspace, false);
  return code != 0 ? code : ForEachChunk(stream, tensors, n, Scale{workspace, most});
}

}  // namespace ampc::cuda
