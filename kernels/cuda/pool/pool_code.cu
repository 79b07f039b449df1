#include "kernels/cuda/pool/pool_code.h"

#include <cfloat>
#include <cmath>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

// The positions [begin, end) of a window along one axis, and how many a mean divides by.
struct Range {
  int64_t begin, end;
  double count;
};

AMPC_HOST_DEVICE inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
AMPC_HOST_DEVICE inline int64_t Most(int64_t a, int64_t b) { return a > b ? a : b; }

AMPC_HOST_DEVICE inline Range WindowAt(const Pool& p, int axis, int64_t i) {
  const PoolAxis& a = p.axis[axis];
  const int64_t in = p.x.size[axis], out = p.out.size[axis];
  if (a.adaptive) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    return {begin, end, static_cast<double>(end - begin)};
  }
  const int64_t begin = i * a.stride - a.before, padded_end = Least(begin + a.kernel, in + a.after);
  const int64_t first = Most(begin, 0), last = Least(padded_end, in);
  if (first >= last) return {0, 0, 1};
  return {first, last, static_cast<double>(p.exclusive ? last - first : padded_end - begin)};
}

// The windows [begin, end) that may have the position.
AMPC_HOST_DEVICE inline Range WindowsOver(const Pool& p, int axis, int64_t i) {
  const PoolAxis& a = p.axis[axis];
  const int64_t in = p.x.size[axis], out = p.out.size[axis];
  if (a.adaptive) return {i * out / in, Least(out, ((i + 1) * out + in - 1) / in), 0};
  const int64_t at = i + a.before;
  return {at < a.kernel ? 0 : (at - a.kernel) / a.stride + 1, Least(out, at / a.stride + 1), 0};
}

struct Box {
  Range d, h, w;
};

AMPC_HOST_DEVICE inline Box BoxAt(const Pool& p, const int64_t* s) {
  return {WindowAt(p, 0, s[0]), WindowAt(p, 1, s[1]), WindowAt(p, 2, s[2])};
}
AMPC_HOST_DEVICE inline int64_t Length(const Range& r) { return r.end > r.begin ? r.end - r.begin : 0; }
AMPC_HOST_DEVICE inline int64_t Positions(const Box& b) { return Length(b.d) * Length(b.h) * Length(b.w); }
AMPC_HOST_DEVICE inline float FactorOf(const Box& b) { return static_cast<float>(1.0 / (b.d.count * b.h.count * b.w.count)); }

template <class T>
AMPC_HOST_DEVICE inline float At(const Volume& v, int64_t offset) {
  return Load(static_cast<const T*>(v.data)[offset]);
}

AMPC_HOST_DEVICE inline float Larger(float value, float largest) { return value > largest || value != value ? value : largest; }

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
          const Range* const ranges[3] = {&box.d, &box.h, &box.w};
          bool inside = true;
          for (int a = 0; a < 3; ++a) inside = inside && at.s[a] >= ranges[a]->begin && at.s[a] < ranges[a]->end;
          if (!inside || (p.max && !(At<T>(p.out, OffsetOf(p.out, window)) == x && IsFirst<T>(p, box, at, x)))) continue;
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
  return ForEach(stream, Elements(p.out), PoolOne<T>{p});
}

template <class F>
int Visit(DType type, F f) {
  switch (type) {
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF16:
      return f(TypeTag<Half>{});
    case DType::kBF16:
      return f(TypeTag<BFloat16>{});
    default:
      return -1;
  }
}

}  // namespace

int LaunchPool(void* stream, const Pool& pool) {
  if (Elements(pool.out) == 0) return 0;
  return Visit(pool.x.type, [&](auto t) { return Run<typename decltype(t)::Type>(stream, pool); });
}

int LaunchPoolGradient(void* stream, const Pool& pool, const Volume& gradient, const Volume& to) {
  return Visit(pool.x.type, [&](auto t) {
    return ForEach(stream, Elements(to), Gradient<typename decltype(t)::Type>{pool, gradient, to});
  });
}

}  // namespace ampc::cuda
