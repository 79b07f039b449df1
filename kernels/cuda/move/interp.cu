#include "kernels/cuda/move/interp.h"

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/move/offsets.h"

namespace ampc::cuda {
namespace {

// The coordinates of an element in the dimensions by which it is numbered.
struct Coordinates {
  int64_t plane, of[3], channel;
};

struct Numbering {
  Divider channels, sizes[3];

  AMPC_HOST_DEVICE Coordinates Of(int64_t i) const {
    Coordinates at;
    int64_t rest = channels.Quotient(i);
    at.channel = i - rest * channels.divisor();
    for (int d = 2; d >= 0; --d) {
      const int64_t next = sizes[d].Quotient(rest);
      at.of[d] = rest - next * sizes[d].divisor();
      rest = next;
    }
    at.plane = rest;
    return at;
  }
};

Numbering NumberingOf(const InterpParams& p, bool operand) {
  Numbering n;
  n.channels = Divider(p.channels);
  for (int d = 0; d < 3; ++d) n.sizes[d] = Divider(operand ? p.axes[d].in : p.axes[d].out);
  return n;
}

// kTaps along the width, and along those of depth and height that are not of size 1 on both sides.
template <int kTaps, class T>
AMPC_HOST_DEVICE inline void Sample(const InterpParams& p, const Coordinates& at, const T* plane, T& out) {
  using C = ComputeType<T>;
  const InterpAxis &depth = p.axes[0], &height = p.axes[1], &width = p.axes[2];
  C deep[kMaxTaps] = {}, high[kMaxTaps] = {}, wide[kMaxTaps] = {};
  const int64_t z = InterpTaps<C>(depth, at.of[0], deep), y = InterpTaps<C>(height, at.of[1], high),
                x = InterpTaps<C>(width, at.of[2], wide);
  int64_t column[kTaps];
  for (int k = 0; k < kTaps; ++k) column[k] = InterpPosition(width, x + k) * p.channels;
  C sum = 0;
  for (int i = 0; i < kTaps && i < depth.taps; ++i) {
    for (int j = 0; j < kTaps && j < height.taps; ++j) {
      const T* const row = plane + (InterpPosition(depth, z + i) * height.in + InterpPosition(height, y + j)) * width.in * p.channels;
      if constexpr (kTaps == 1) {  // the nearest
        out = row[column[0]];
        return;
      }
      C part = Load(row[column[0]]) * wide[0];
      for (int k = 1; k < kTaps && k < width.taps; ++k) part += Load(row[column[k]]) * wide[k];
      sum += part * (deep[i] * high[j]);
    }
  }
  Store(out, sum);
}

template <int kTaps, class T>
int Interp(void* stream, const InterpParams& p, const T* x, T* out) {
  const Numbering numbering = NumberingOf(p, false);
  const int64_t plane = p.axes[0].in * p.axes[1].in * p.axes[2].in * p.channels;
  const int64_t n = p.planes * p.axes[0].out * p.axes[1].out * p.axes[2].out * p.channels;
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) {
    const Coordinates at = numbering.Of(i);
    Sample<kTaps>(p, at, x + at.plane * plane + at.channel, out[i]);
  });
}

// The first result whose taps start at `start` or later; their starts do not fall.
template <class C>
AMPC_HOST_DEVICE inline int64_t FirstFrom(const InterpAxis& axis, int64_t start) {
  C weight[kMaxTaps];
  int64_t low = 0, high = axis.out;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (InterpTaps<C>(axis, middle, weight) >= start) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Results [begin, end) may be made of position `at`.
struct Reach {
  int64_t begin, end;
};

template <class C>
AMPC_HOST_DEVICE inline Reach ReachOf(const InterpAxis& axis, int64_t at) {
  return {at == 0 ? 0 : FirstFrom<C>(axis, at - axis.taps + 1), at == axis.in - 1 ? axis.out : FirstFrom<C>(axis, at + 1)};
}

template <class T>
AMPC_HOST_DEVICE inline void Gather(const InterpParams& p, const Coordinates& at, const T* gradient, T& out) {
  using C = ComputeType<T>;
  const InterpAxis &depth = p.axes[0], &height = p.axes[1], &width = p.axes[2];
  const Reach zs = ReachOf<C>(depth, at.of[0]), ys = ReachOf<C>(height, at.of[1]), xs = ReachOf<C>(width, at.of[2]);
  C wz[kMaxTaps], wy[kMaxTaps], wx[kMaxTaps], sum = 0;
  for (int64_t z = zs.begin; z < zs.end; ++z) {
    const int64_t z0 = InterpTaps<C>(depth, z, wz);
    for (int64_t y = ys.begin; y < ys.end; ++y) {
      const int64_t y0 = InterpTaps<C>(height, y, wy);
      for (int i = 0; i < depth.taps; ++i) {
        if (InterpPosition(depth, z0 + i) != at.of[0]) continue;
        for (int j = 0; j < height.taps; ++j) {
          if (InterpPosition(height, y0 + j) != at.of[1]) continue;
          for (int64_t x = xs.begin; x < xs.end; ++x) {
            const int64_t x0 = InterpTaps<C>(width, x, wx);
            const C value = Load(gradient[((z * height.out + y) * width.out + x) * p.channels]);
            for (int k = 0; k < width.taps; ++k) {
              if (InterpPosition(width, x0 + k) == at.of[2]) sum += value * ((wz[i] * wy[j]) * wx[k]);
            }
          }
        }
      }
    }
  }
  Store(out, sum);
}

template <class T>
int InterpGradient(void* stream, const InterpParams& p, const T* gradient, T* out) {
  const Numbering numbering = NumberingOf(p, true);
  const int64_t plane = p.axes[0].out * p.axes[1].out * p.axes[2].out * p.channels;
  const int64_t n = p.planes * p.axes[0].in * p.axes[1].in * p.axes[2].in * p.channels;
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) {
    const Coordinates at = numbering.Of(i);
    Gather(p, at, gradient + at.plane * plane + at.channel, out[i]);
  });
}

}  // namespace

int LaunchInterp(void* stream, const InterpParams& p, const void* x, void* out) {
  return VisitFloat(p.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(out);
    const int taps = p.axes[2].taps;
    return taps == 1 ? Interp<1>(stream, p, from, to) : taps == 2 ? Interp<2>(stream, p, from, to) : Interp<4>(stream, p, from, to);
  });
}

int LaunchInterpGradient(void* stream, const InterpParams& p, const void* gradient, void* out) {
  return VisitFloat(p.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return InterpGradient<T>(stream, p, static_cast<const T*>(gradient), static_cast<T*>(out));
  });
}

}  // namespace ampc::cuda
