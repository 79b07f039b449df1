// Sampling an image or a volume at given positions, and its derivatives: the arithmetic of grid_sampler for host and device.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/common/host_device.h"

namespace ampc {

enum class GridOutside : uint8_t { kZeros, kBorder, kReflection };

struct GridSampler {
  int rank = 2;                                 // spatial dimensions
  int64_t in[3] = {1, 1, 1};                    // sizes of X along x, y, z: innermost first
  int64_t step[3] = {1, 1, 1};                  // elements from one position to the next
  int64_t images = 0, channels = 0, plane = 1;  // plane: elements of a channel of X
  int64_t points = 1;                           // of an image of the result
  bool nearest = false, align_corners = true;
  GridOutside outside = GridOutside::kZeros;
};

inline constexpr int kMaxGridCorners = 8;

template <typename T>
struct GridCorner {
  int64_t offset;  // in a plane of X
  T weight;        // 0 where nothing is sampled
};

// A coordinate from [-1, 1] to positions of X. NaN stays NaN; an infinite one lies far outside.
template <typename T>
AMPC_HOST_DEVICE inline T GridPosition(const GridSampler& s, T at, int64_t size) {
  const T last = static_cast<T>(size - 1), far = static_cast<T>(1e9);
  T p = s.align_corners ? (at + 1) * last / 2 : (at + 1) * (last + 1) / 2 - T(0.5);
  p = p < -far ? -far : p > far ? far : p;
  if (s.outside == GridOutside::kBorder) return p < 0 ? 0 : p > last ? last : p;
  if (s.outside == GridOutside::kZeros) return p;
  if (s.align_corners && size == 1) return p != p ? p : 0;
  const T shift = s.align_corners ? T(0) : T(0.5), period = (last + 2 * shift) * 2;
  const T distance = std::abs(p + shift);
  const T rest = distance - std::floor(distance / period) * period;
  p = (period - rest < rest ? period - rest : rest) - shift;
  return p < 0 ? 0 : p > last ? last : p;
}

// The corners around a position, one coordinate per axis: one, or 2^rank.
template <typename T>
AMPC_HOST_DEVICE inline int GridCorners(const GridSampler& s, const T* at, GridCorner<T>* corners) {
  int count = 1;
  corners[0] = {0, 1};
  for (int k = 0; k < s.rank; ++k) {
    const T p = GridPosition(s, at[k], s.in[k]);
    if (p != p) {
      corners[0] = {0, std::numeric_limits<T>::quiet_NaN()};
      return 1;
    }
    const T low = s.nearest ? std::round(p) : std::floor(p);
    const auto place = [&s, k](GridCorner<T> c, int64_t i, T weight) -> GridCorner<T> {
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

// Along one axis: the two neighbours of a position, their weights, and how the second's weight grows with the coordinate (the first's
// falls as much). Neighbours outside have no weight and do not grow.
template <typename T>
struct GridNeighbours {
  int64_t offset[2] = {0, 0};
  T weight[2] = {0, 0}, growth[2] = {0, 0};
};

// The derivative of GridPosition: 0 where the position is held at an edge, less than 0 where the coordinate runs backwards.
template <typename T>
AMPC_HOST_DEVICE inline T GridSlope(const GridSampler& s, T at, int64_t size) {
  const T last = static_cast<T>(size - 1), slope = s.align_corners ? last / 2 : (last + 1) / 2;
  const T p = s.align_corners ? (at + 1) * last / 2 : (at + 1) * (last + 1) / 2 - T(0.5);
  if (s.outside == GridOutside::kZeros) return slope;
  if (s.outside == GridOutside::kBorder) return p < 0 || p > last ? T(0) : slope;
  if (s.align_corners && size == 1) return 0;
  const T shift = s.align_corners ? T(0) : T(0.5), period = (last + 2 * shift) * 2;
  const T distance = std::abs(p + shift), rest = distance - std::floor(distance / period) * period;
  const T folded = (period - rest < rest ? period - rest : rest) - shift;
  if (folded < 0 || folded > last) return 0;
  return (p + shift < 0) == (period - rest < rest) ? slope : -slope;
}

// False where a coordinate is NaN: X counts for nothing there.
template <typename T>
AMPC_HOST_DEVICE inline bool FindGridNeighbours(const GridSampler& s, const T* at, GridNeighbours<T>* axes) {
  for (int k = 0; k < s.rank; ++k) {
    const T p = GridPosition(s, at[k], s.in[k]);
    if (p != p) return false;
    const T low = s.nearest ? std::round(p) : std::floor(p);
    const T slope = s.nearest ? T(0) : GridSlope(s, at[k], s.in[k]);
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

// A corner of a position by its number below 2^rank: how much X there counts, and how much more with each coordinate.
template <typename T>
struct GridTerm {
  int64_t offset = 0;
  T weight = 1, growth[3] = {1, 1, 1};
};
template <typename T>
AMPC_HOST_DEVICE inline GridTerm<T> GridTermOf(const GridSampler& s, const GridNeighbours<T>* axes, int bits) {
  GridTerm<T> term;
  for (int k = 0; k < s.rank; ++k) {
    const int side = bits >> k & 1;
    term.offset += axes[k].offset[side];
    term.weight *= axes[k].weight[side];
    for (int j = 0; j < s.rank; ++j) term.growth[j] *= j == k ? axes[k].growth[side] : axes[k].weight[side];
  }
  return term;
}

}  // namespace ampc
