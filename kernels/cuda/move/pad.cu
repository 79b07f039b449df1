#include "kernels/cuda/move/pad.h"

#include <cstring>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

template <class T>
int Pad(void* stream, const PadParams& p, const T* x, T* out) {
  int64_t rows = 1;
  for (int d = 0; d < p.rank; ++d) rows *= p.axes[d].out.divisor();
  const Divider units(p.run / static_cast<int64_t>(sizeof(T)));
  T constant;
  memcpy(&constant, p.element.bytes, sizeof(T));
  return ForEach(stream, rows * units.divisor(), [=] AMPC_DEVICE(int64_t i) {
    int64_t row = units.Quotient(i), from = 0;
    const int64_t unit = i - row * units.divisor();
    bool inside = true;
    for (int d = p.rank - 1; d >= 0; --d) {
      const PadAxis& axis = p.axes[d];
      const int64_t rest = axis.out.Quotient(row), source = PadSource(p.mode, row - rest * axis.out.divisor(), axis.in, axis.before);
      inside = inside && source >= 0;
      from += source * axis.step;
      row = rest;
    }
    out[i] = inside ? x[from * units.divisor() + unit] : constant;
  });
}

template <class T>
int PadGradient(void* stream, const PadGradientParams& p, const T* gradient, T* out) {
  int64_t n = 1;
  for (int d = 0; d < p.rank; ++d) n *= p.axes[d].in.divisor();
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) {
    PadTargets targets[kMaxAxes];
    int64_t terms = 1, rest = i;
    for (int d = p.rank - 1; d >= 0; --d) {
      const auto& axis = p.axes[d];
      const int64_t next = axis.in.Quotient(rest);
      targets[d] = PadTargetsOf(p.mode, rest - next * axis.in.divisor(), axis.in.divisor(), axis.before, axis.shown);
      terms *= targets[d].count;
      rest = next;
    }
    double sum = 0;
    for (int64_t t = 0; t < terms; ++t) {
      int64_t left = t, at = 0;
      for (int d = p.rank - 1; d >= 0; --d) {
        at += targets[d].At(left % targets[d].count) * p.axes[d].step;
        left /= targets[d].count;
      }
      sum += static_cast<double>(Load(gradient[at]));
    }
    Store(out[i], static_cast<ComputeType<T>>(sum));
  });
}

}  // namespace

int LaunchPad(void* stream, const PadParams& p, const void* x, void* out) {
  const uint64_t bits = static_cast<uint64_t>(p.run) | reinterpret_cast<uint64_t>(x) | reinterpret_cast<uint64_t>(out) | 16;
  return VisitWidth(static_cast<int64_t>(bits & (~bits + 1)), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Pad<T>(stream, p, static_cast<const T*>(x), static_cast<T*>(out));
  });
}

int LaunchPadGradient(void* stream, const PadGradientParams& p, const void* gradient, void* out) {
  return VisitFloat(p.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return PadGradient<T>(stream, p, static_cast<const T*>(gradient), static_cast<T*>(out));
  });
}

}  // namespace ampc::cuda
