#include "kernels/cuda/pool/pool_code.h"

#include <cfloat>
#include <cmath>

#include "kernels/cuda/base/visit_single.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/pool/packed.h"
#include "kernels/cuda/pool/windows.h"

namespace ampc::cuda {
namespace {

template <class T>
AMPC_HOST_DEVICE inline float At(const Volume& v, int64_t offset) {
  return Load(static_cast<const T*>(v.data)[offset]);
}

template <class T>
struct PoolOne {
  Pool p;
  AMPC_DEVICE void operator()(int64_t i) const {
    const VolumeIndex at = IndexAt(p.out, i);
    const Box box = BoxAt(p, at.s);
    T& to = static_cast<T*>(p.out.data)[i];
    if (Positions(box) == 0) return Store(to, p.max ? -FLT_MAX : 0.0f);  // in padding alone
    const int64_t image = at.n * p.x.stride_n + at.c * p.x.stride_c;
    bool first = true;
    float value = 0;
    for (int64_t d = box.d.begin; d < box.d.end; ++d) {
      for (int64_t h = box.h.begin; h < box.h.end; ++h) {
        int64_t from = image + d * p.x.stride[0] + h * p.x.stride[1] + box.w.begin * p.x.stride[2];
        for (int64_t w = box.w.begin; w < box.w.end; ++w, from += p.x.stride[2]) {
          const float v = At<T>(p.x, from);
          value = first ? v : p.max ? Larger(v, value) : value + v;
          first = false;
        }
      }
    }
    Store(to, p.max ? value : value * FactorOf(box));
  }
};

// A large window: a team shares its positions.
template <class T>
struct PoolByTeam {
  Pool p;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t t) const {
    const VolumeIndex at = IndexAt(p.out, t);
    const Box box = BoxAt(p, at.s);
    const Volume x = p.x;
    const int64_t image = at.n * x.stride_n + at.c * x.stride_c, rows = Length(box.h), cols = Length(box.w);
    const auto load = [=](int64_t i) {
      const int64_t d = box.d.begin + i / (rows * cols), h = box.h.begin + i / cols % rows, w = box.w.begin + i % cols;
      return At<T>(x, image + d * x.stride[0] + h * x.stride[1] + w * x.stride[2]);
    };
    const int64_t n = Positions(box);
    float value = p.max ? -FLT_MAX : 0.0f;
    if (n > 0) value = p.max ? team.Reduce(n, -INFINITY, load, Largest()) : team.Reduce(n, 0.0f, load, Plus()) * FactorOf(box);
    T* const to = static_cast<T*>(p.out.data) + t;
    team.Once([=] { Store(*to, value); });
  }
};

// Whether the position is the first of the window that holds its largest value.
template <class T>
AMPC_HOST_DEVICE inline bool IsFirst(const Pool& p, const Box& box, const VolumeIndex& at, float largest) {
  const int64_t image = at.n * p.x.stride_n + at.c * p.x.stride_c;
  for (int64_t d = box.d.begin; d <= at.s[0]; ++d) {
    for (int64_t h = box.h.begin; h < box.h.end; ++h) {
      for (int64_t w = box.w.begin; w < box.w.end; ++w) {
        if (d == at.s[0] && h == at.s[1] && w == at.s[2]) return true;
        if (At<T>(p.x, image + d * p.x.stride[0] + h * p.x.stride[1] + w * p.x.stride[2]) == largest) return false;
      }
    }
  }
  return true;
}

template <class T>
struct Gradient {
  Pool p;
  Volume gradient, to;
  AMPC_DEVICE void operator()(int64_t i) const {
    const VolumeIndex at = IndexAt(to, i);
    const Range over_d = WindowsOver(p, 0, at.s[0]), over_h = WindowsOver(p, 1, at.s[1]), over_w = WindowsOver(p, 2, at.s[2]);
    const float x = p.max ? At<T>(p.x, OffsetOf(p.x, at)) : 0.0f;
    float sum = 0;
    VolumeIndex window{at.n, at.c, {}};
    for (window.s[0] = over_d.begin; window.s[0] < over_d.end; ++window.s[0]) {
      for (window.s[1] = over_h.begin; window.s[1] < over_h.end; ++window.s[1]) {
        for (window.s[2] = over_w.begin; window.s[2] < over_w.end; ++window.s[2]) {
          const Box box = BoxAt(p, window.s);
          if (!Has(box, at.s) || (p.max && !(At<T>(p.out, OffsetOf(p.out, window)) == x && IsFirst<T>(p, box, at, x)))) continue;
          const float g = At<T>(gradient, OffsetOf(gradient, window));
          sum += p.max ? g : g * FactorOf(box);
        }
      }
    }
    Store(static_cast<T*>(to.data)[i], sum);
  }
};

// Positions of a window from which on a team is worth it, where neighbouring threads would not read neighbouring elements.
constexpr int64_t kLargeWindow = 64;

template <class T>
int Run(void* stream, const Pool& p) {
  int64_t window = 1;
  for (int a = 0; a < 3; ++a) window *= p.axis[a].adaptive ? (p.x.size[a] + p.out.size[a] - 1) / p.out.size[a] : p.axis[a].kernel;
  if (window >= kLargeWindow && !p.x.channels_last) return ForEachTeam(stream, Elements(p.out), window, PoolByTeam<T>{p});
  if (InPacks<T>(p.x, p.out)) return ForEach(stream, Elements(p.out) / kPack<T>, PoolPack<T>{p});
  return ForEach(stream, Elements(p.out), PoolOne<T>{p});
}

template <class T>
int RunGradient(void* stream, const Pool& p, const Volume& gradient, const Volume& to) {
  const bool packs = InPacks<T>(to, gradient) && (!p.max || InPacks<T>(p.x, p.out));
  if (packs) return ForEach(stream, Elements(to) / kPack<T>, GradientPack<T>{p, gradient, to});
  return ForEach(stream, Elements(to), Gradient<T>{p, gradient, to});
}

}  // namespace

int LaunchPool(void* stream, const Pool& pool) {
  if (Elements(pool.out) == 0) return 0;
  return VisitSingle(pool.x.type, [&](auto t) { return Run<typename decltype(t)::Type>(stream, pool); });
}

int LaunchPoolGradient(void* stream, const Pool& pool, const Volume& gradient, const Volume& to) {
  return VisitSingle(pool.x.type, [&](auto t) { return RunGradient<typename decltype(t)::Type>(stream, pool, gradient, to); });
}

}  // namespace ampc::cuda
