// Pooling where channels lie last, in packs of channels of 16 bytes.
#pragma once

#include <cfloat>
#include <cmath>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/pool/windows.h"

namespace ampc::cuda {

template <class T>
constexpr int kPack = 16 / static_cast<int>(sizeof(T));

template <class T>
struct alignas(16) Pack {
  T at[kPack<T>];
};

template <class T>
bool InPacks(const Volume& a, const Volume& b) {
  return a.channels_last && b.channels_last && a.c % kPack<T> == 0 && IsAligned(a.data) && IsAligned(b.data);
}

template <class T>
AMPC_HOST_DEVICE inline const Pack<T>& PackAt(const Volume& v, int64_t offset) {
  return *reinterpret_cast<const Pack<T>*>(static_cast<const T*>(v.data) + offset);
}

template <class T>
struct PoolPack {
  Pool p;
  AMPC_DEVICE void operator()(int64_t i) const {
    const VolumeIndex at = IndexAt(p.out, i * kPack<T>);
    const Box box = BoxAt(p, at.s);
    const bool any = Positions(box) > 0;
    const int64_t image = at.n * p.x.stride_n + at.c;
    float values[kPack<T>];
    for (float& v : values) v = !p.max ? 0.0f : any ? -INFINITY : -FLT_MAX;  // in padding alone: the least float
    for (int64_t d = box.d.begin; d < box.d.end; ++d) {
      for (int64_t h = box.h.begin; h < box.h.end; ++h) {
        int64_t from = image + d * p.x.stride[0] + h * p.x.stride[1] + box.w.begin * p.x.stride[2];
        for (int64_t w = box.w.begin; w < box.w.end; ++w, from += p.x.stride[2]) {
          const Pack<T> x = PackAt<T>(p.x, from);
          for (int k = 0; k < kPack<T>; ++k) values[k] = p.max ? Larger(Load(x.at[k]), values[k]) : values[k] + Load(x.at[k]);
        }
      }
    }
    const float factor = p.max || !any ? 1.0f : FactorOf(box);
    Pack<T> result;
    for (int k = 0; k < kPack<T>; ++k) Store(result.at[k], values[k] * factor);
    static_cast<Pack<T>*>(p.out.data)[i] = result;
  }
};

template <class T>
struct GradientPack {
  Pool p;
  Volume gradient, to;

  AMPC_DEVICE void operator()(int64_t i) const {
    const VolumeIndex at = IndexAt(to, i * kPack<T>);
    const Range over_d = WindowsOver(p, 0, at.s[0]), over_h = WindowsOver(p, 1, at.s[1]), over_w = WindowsOver(p, 2, at.s[2]);
    float sums[kPack<T>] = {};
    VolumeIndex window{at.n, at.c, {}};
    for (window.s[0] = over_d.begin; window.s[0] < over_d.end; ++window.s[0]) {
      for (window.s[1] = over_h.begin; window.s[1] < over_h.end; ++window.s[1]) {
        for (window.s[2] = over_w.begin; window.s[2] < over_w.end; ++window.s[2]) Add(at, window, sums);
      }
    }
    Pack<T> result;
    for (int k = 0; k < kPack<T>; ++k) Store(result.at[k], sums[k]);
    static_cast<Pack<T>*>(to.data)[i] = result;
  }

  AMPC_HOST_DEVICE void Add(const VolumeIndex& at, const VolumeIndex& window, float* sums) const {
    const Box box = BoxAt(p, window.s);
    if (!Has(box, at.s)) return;
    const unsigned mine = p.max ? First(box, at, window) : ~0u;
    if (mine == 0) return;
    const Pack<T> g = PackAt<T>(gradient, OffsetOf(gradient, window));
    const float factor = p.max ? 1.0f : FactorOf(box);
    for (int k = 0; k < kPack<T>; ++k) {
      if ((mine >> k & 1) != 0) sums[k] += Load(g.at[k]) * factor;
    }
  }

  // A bit per channel: the position is the first of the window that holds its largest value.
  AMPC_HOST_DEVICE unsigned First(const Box& box, const VolumeIndex& at, const VolumeIndex& window) const {
    const Pack<T> largest = PackAt<T>(p.out, OffsetOf(p.out, window));
    const int64_t image = at.n * p.x.stride_n + at.c;
    unsigned left = Equal(largest, OffsetOf(p.x, at));
    for (int64_t d = box.d.begin; d <= at.s[0]; ++d) {
      for (int64_t h = box.h.begin; h < box.h.end; ++h) {
        for (int64_t w = box.w.begin; w < box.w.end; ++w) {
          if (left == 0 || (d == at.s[0] && h == at.s[1] && w == at.s[2])) return left;
          left &= ~Equal(largest, image + d * p.x.stride[0] + h * p.x.stride[1] + w * p.x.stride[2]);
        }
      }
    }
    return left;
  }

  AMPC_HOST_DEVICE unsigned Equal(const Pack<T>& values, int64_t offset) const {
    const Pack<T> x = PackAt<T>(p.x, offset);
    unsigned bits = 0;
    for (int k = 0; k < kPack<T>; ++k) bits |= (Load(x.at[k]) == Load(values.at[k]) ? 1u : 0u) << k;
    return bits;
  }
};

}  // namespace ampc::cuda
