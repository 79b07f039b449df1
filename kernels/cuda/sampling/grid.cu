#include "kernels/cuda/sampling/grid.h"

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/sampling/const_floats.h"

namespace ampc::cuda {
namespace {

constexpr int64_t kChannels = 8;  // for which a thread uses a position

template <class C>
AMPC_HOST_DEVICE inline void LoadPosition(const GridSampler& s, const GridPositions& grid, int64_t point, C* at) {
  for (int k = 0; k < s.rank; ++k) at[k] = LoadFloat<C>({grid.type, grid.at}, point * s.rank + k);
}

template <class T>
int Sample(void* stream, const GridSampler& s, const T* x, const GridPositions& grid, T* out) {
  const int64_t groups = (s.channels + kChannels - 1) / kChannels;
  return ForEach(stream, s.images * groups * s.points, [=] AMPC_DEVICE(int64_t i) {
    using C = ComputeType<T>;
    const int64_t point = i % s.points, group = i / s.points % groups, image = i / s.points / groups;
    C at[3];
    LoadPosition(s, grid, image * s.points + point, at);
    GridCorner<C> corners[kMaxGridCorners];
    const int count = GridCorners(s, at, corners);
    const int64_t end = (group + 1) * kChannels < s.channels ? (group + 1) * kChannels : s.channels;
    for (int64_t c = group * kChannels; c < end; ++c) {
      const T* const plane = x + (image * s.channels + c) * s.plane;
      C sum = 0;
      for (int k = 0; k < count; ++k) {
        if (corners[k].weight != 0) sum += Load(plane[corners[k].offset]) * corners[k].weight;
      }
      Store(out[(image * s.channels + c) * s.points + point], sum);
    }
  });
}

template <class T>
int Keys(void* stream, const GridSampler& s, const GridPositions& grid, uint32_t* keys, ComputeType<T>* weights) {
  const int corners = 1 << s.rank;
  return ForEach(stream, s.images * s.points, [=] AMPC_DEVICE(int64_t i) {
    using C = ComputeType<T>;
    C at[3];
    LoadPosition(s, grid, i, at);
    GridNeighbours<C> axes[3];
    const bool found = FindGridNeighbours(s, at, axes);
    for (int corner = 0; corner < corners; ++corner) {
      const GridTerm<C> term = GridTermOf(s, axes, corner);
      const bool counts = found && term.weight != 0;
      keys[i * corners + corner] = static_cast<uint32_t>(counts ? i / s.points * s.plane + term.offset : s.images * s.plane);
      weights[i * corners + corner] = term.weight;
    }
  });
}

// Item [channel, sorted corner]: the first corner of each key does the work.
template <class T>
int Spread(void* stream, const GridSampler& s, const uint32_t* keys, const uint32_t* order, const ComputeType<T>* weights,
           const T* gradient, T* out) {
  const int64_t corners = int64_t{1} << s.rank, count = s.images * s.points * corners;
  return ForEach(stream, s.channels * count, [=] AMPC_DEVICE(int64_t i) {
    const int64_t channel = i / count, first = i - channel * count, none = s.images * s.plane;
    const uint32_t key = keys[first];
    if (key >= none || (first > 0 && keys[first - 1] == key)) return;
    const int64_t image = key / s.plane, row = image * s.channels + channel;
    ComputeType<T> sum = 0;
    for (int64_t p = first; p < count && keys[p] == key; ++p) {
      const int64_t corner = order[p], point = corner / corners - image * s.points;
      sum += weights[corner] * Load(gradient[row * s.points + point]);
    }
    Store(out[row * s.plane + (key - image * s.plane)], sum);
  });
}

template <class T>
int Slopes(void* stream, const GridSampler& s, const T* x, const GridPositions& grid, const T* gradient, void* out) {
  return ForEach(stream, s.images * s.points, [=] AMPC_DEVICE(int64_t i) {
    using C = ComputeType<T>;
    const int64_t image = i / s.points, point = i - image * s.points;
    C at[3] = {0, 0, 0}, sum[3] = {0, 0, 0};
    LoadPosition(s, grid, i, at);
    GridNeighbours<C> axes[3];
    if (!s.nearest && FindGridNeighbours(s, at, axes)) {
      for (int corner = 0; corner < 1 << s.rank; ++corner) {
        const GridTerm<C> term = GridTermOf(s, axes, corner);
        C value = 0;
        for (int64_t c = 0; c < s.channels; ++c) {
          const int64_t row = image * s.channels + c;
          value += Load(x[row * s.plane + term.offset]) * Load(gradient[row * s.points + point]);
        }
        for (int k = 0; k < s.rank; ++k) sum[k] += term.growth[k] * value;
      }
    }
    for (int k = 0; k < s.rank; ++k) StoreFloat(grid.type, out, i * s.rank + k, sum[k]);
  });
}

// Position i of n along an axis: the first and last lie at -1 and 1, or at the centres of the outer pixels.
template <class C>
AMPC_HOST_DEVICE inline C AxisPosition(int64_t i, int64_t n, bool align_corners) {
  const C step = align_corners ? C(2) / static_cast<C>(n - 1) : C(2) / static_cast<C>(n);
  const C start = align_corners ? C(-1) : -static_cast<C>(n - 1) / static_cast<C>(n);
  return i == 0 ? start : start + static_cast<C>(i) * step;
}

template <class C>
AMPC_HOST_DEVICE inline void PointOf(const AffineGrid& a, int64_t point, C* at) {
  for (int k = 0; k < a.rank; ++k) {
    at[k] = AxisPosition<C>(point % a.size[k], a.size[k], a.align_corners);
    point /= a.size[k];
  }
}

template <class T>
int Affine(void* stream, const AffineGrid& a, const T* theta, T* out) {
  return ForEach(stream, a.images * a.points, [=] AMPC_DEVICE(int64_t i) {
    using C = ComputeType<T>;
    const int64_t image = i / a.points;
    C at[3];
    PointOf(a, i - image * a.points, at);
    for (int row = 0; row < a.rank; ++row) {
      const T* const numbers = theta + (image * a.rank + row) * (a.rank + 1);
      C sum = 0;
      for (int k = 0; k < a.rank; ++k) sum += Load(numbers[k]) * at[k];
      Store(out[i * a.rank + row], sum + Load(numbers[a.rank]));
    }
  });
}

struct Sums {
  double v[4];
};

struct AddSums {
  AMPC_HOST_DEVICE Sums operator()(Sums a, const Sums& b) const {
    for (int k = 0; k < 4; ++k) a.v[k] += b.v[k];
    return a;
  }
};

// A team for a row of an image's matrix.
template <class T>
struct AffineRow {
  AffineGrid a;
  const T* gradient;
  T* out;

  AMPC_DEVICE Sums Term(int64_t image, int64_t row, int64_t point) const {
    using C = ComputeType<T>;
    const double g = static_cast<double>(Load(gradient[(image * a.points + point) * a.rank + row]));
    C at[3];
    PointOf(a, point, at);
    Sums s = {{0, 0, 0, 0}};
    for (int k = 0; k < a.rank; ++k) s.v[k] = g * static_cast<double>(at[k]);
    s.v[a.rank] = g;
    return s;
  }
  template <class TeamType>
  AMPC_DEVICE void operator()(TeamType& team, int64_t t) const {
    const AffineRow& self = *this;
    const int64_t image = t / a.rank, row = t % a.rank;
    const Sums sums = team.Reduce(
        a.points, Sums{{0, 0, 0, 0}}, [&self, image, row](int64_t i) { return self.Term(image, row, i); }, AddSums());
    team.Once([&self, &sums, t] {
      for (int k = 0; k <= self.a.rank; ++k) Store(self.out[t * (self.a.rank + 1) + k], static_cast<ComputeType<T>>(sums.v[k]));
    });
  }
};

}  // namespace

int LaunchGridSample(void* stream, DType type, const GridSampler& s, const void* x, const GridPositions& grid, void* out) {
  return VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Sample<T>(stream, s, static_cast<const T*>(x), grid, static_cast<T*>(out));
  });
}

int LaunchGridKeys(void* stream, DType type, const GridSampler& s, const GridPositions& grid, uint32_t* keys, void* weights) {
  return VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Keys<T>(stream, s, grid, keys, static_cast<ComputeType<T>*>(weights));
  });
}

int LaunchGridSpread(void* stream, DType type, const GridSampler& s, const uint32_t* keys, const uint32_t* order, const void* weights,
                     const void* gradient, void* out) {
  return VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Spread<T>(stream, s, keys, order, static_cast<const ComputeType<T>*>(weights), static_cast<const T*>(gradient),
                     static_cast<T*>(out));
  });
}

int LaunchGridSlopes(void* stream, DType type, const GridSampler& s, const void* x, const GridPositions& grid, const void* gradient,
                     void* out) {
  return VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Slopes<T>(stream, s, static_cast<const T*>(x), grid, static_cast<const T*>(gradient), out);
  });
}

int LaunchAffineGrid(void* stream, const AffineGrid& a, const void* theta, void* out) {
  return VisitFloat(a.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Affine<T>(stream, a, static_cast<const T*>(theta), static_cast<T*>(out));
  });
}

int LaunchAffineGridGradient(void* stream, const AffineGrid& a, const void* gradient, void* out) {
  return VisitFloat(a.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return ForEachTeam(stream, a.images * a.rank, a.points, AffineRow<T>{a, static_cast<const T*>(gradient), static_cast<T*>(out)});
  });
}

}  // namespace ampc::cuda
