#include "kernels/cuda/conv/conv_code.h"

#include "kernels/cuda/conv/epilogue.h"
#include "kernels/cuda/conv/visit_types.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

template <class T>
AMPC_HOST_DEVICE inline float At(const Volume& t, int64_t offset) {
  return Load(static_cast<const T*>(t.data)[offset]);
}

template <class T, class W>
struct Forward {
  DirectConv p;
  ConvEpilogue e;
  AMPC_DEVICE void operator()(int64_t i) const {
    const VolumeIndex at = IndexAt(p.y, i);
    const int64_t group = at.c / (p.y.c / p.groups);
    const int64_t x = at.n * p.x.stride_n + group * p.w.c * p.x.stride_c, w = at.c * p.w.stride_n;
    float sum = 0;
    for (int64_t d = 0; d < p.w.size[0]; ++d) {
      const int64_t xd = at.s[0] * p.step[0] + d * p.dilation[0] - p.before[0];
      if (xd < 0 || xd >= p.x.size[0]) continue;
      for (int64_t h = 0; h < p.w.size[1]; ++h) {
        const int64_t xh = at.s[1] * p.step[1] + h * p.dilation[1] - p.before[1];
        if (xh < 0 || xh >= p.x.size[1]) continue;
        for (int64_t v = 0; v < p.w.size[2]; ++v) {
          const int64_t xw = at.s[2] * p.step[2] + v * p.dilation[2] - p.before[2];
          if (xw < 0 || xw >= p.x.size[2]) continue;
          int64_t from_x = x + xd * p.x.stride[0] + xh * p.x.stride[1] + xw * p.x.stride[2];
          int64_t from_w = w + d * p.w.stride[0] + h * p.w.stride[1] + v * p.w.stride[2];
          for (int64_t c = 0; c < p.w.c; ++c, from_x += p.x.stride_c, from_w += p.w.stride_c)
            sum += At<T>(p.x, from_x) * At<W>(p.w, from_w);
        }
      }
    }
    Store(static_cast<T*>(p.y.data)[i], Finish<T>(e, at, sum));
  }
};

// The position of y whose tap meets `x`; false where there is none.
AMPC_HOST_DEVICE inline bool Meets(const DirectConv& p, int axis, int64_t x, int64_t tap, int64_t* y) {
  const int64_t at = x + p.before[axis] - tap * p.dilation[axis];
  if (at < 0 || at % p.step[axis] != 0) return false;
  *y = at / p.step[axis];
  return *y < p.y.size[axis];
}

template <class T, class W>
struct InputGradient {
  DirectConv p;
  ConvEpilogue e;
  AMPC_DEVICE void operator()(int64_t i) const {
    const VolumeIndex at = IndexAt(p.x, i);
    const int64_t out = p.y.c / p.groups, group = at.c / p.w.c;
    const int64_t y = at.n * p.y.stride_n + group * out * p.y.stride_c;
    const int64_t w = group * out * p.w.stride_n + at.c % p.w.c * p.w.stride_c;
    float sum = 0;
    int64_t yd, yh, yw;
    for (int64_t d = 0; d < p.w.size[0]; ++d) {
      if (!Meets(p, 0, at.s[0], d, &yd)) continue;
      for (int64_t h = 0; h < p.w.size[1]; ++h) {
        if (!Meets(p, 1, at.s[1], h, &yh)) continue;
        for (int64_t v = 0; v < p.w.size[2]; ++v) {
          if (!Meets(p, 2, at.s[2], v, &yw)) continue;
          int64_t from_y = y + yd * p.y.stride[0] + yh * p.y.stride[1] + yw * p.y.stride[2];
          int64_t from_w = w + d * p.w.stride[0] + h * p.w.stride[1] + v * p.w.stride[2];
          for (int64_t o = 0; o < out; ++o, from_y += p.y.stride_c, from_w += p.w.stride_n) sum += At<T>(p.y, from_y) * At<W>(p.w, from_w);
        }
      }
    }
    Store(static_cast<T*>(p.x.data)[i], Finish<T>(e, at, sum));
  }
};

// The product for one filter element and one image and position of y; 0 where the tap lies outside of x.
template <class T>
AMPC_HOST_DEVICE inline float FilterTerm(const DirectConv& p, const VolumeIndex& filter, int64_t i) {
  VolumeIndex y{0, filter.n, {}}, x{0, filter.n / (p.y.c / p.groups) * p.w.c + filter.c, {}};
  for (int a = 2; a >= 0; --a) {
    y.s[a] = i % p.y.size[a];
    i /= p.y.size[a];
    x.s[a] = y.s[a] * p.step[a] + filter.s[a] * p.dilation[a] - p.before[a];
    if (x.s[a] < 0 || x.s[a] >= p.x.size[a]) return 0;
  }
  x.n = y.n = i;
  return At<T>(p.x, OffsetOf(p.x, x)) * At<T>(p.y, OffsetOf(p.y, y));
}

AMPC_HOST_DEVICE inline int64_t Terms(const DirectConv& p) { return p.y.n * p.y.size[0] * p.y.size[1] * p.y.size[2]; }

// One team adds up one filter element: neighbouring threads read neighbouring positions.
template <class T, class W>
struct FilterByTeam {
  DirectConv p;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t t) const {
    const DirectConv& conv = p;
    const VolumeIndex filter = IndexAt(p.w, t);
    const float sum = team.Reduce(
        Terms(p), 0.0f, [&conv, &filter](int64_t i) { return FilterTerm<T>(conv, filter, i); }, Plus());
    W* const to = static_cast<W*>(p.w.data);
    team.Once([=] { Store(to[t], sum); });
  }
};

// If channels lie last, neighbouring threads read neighbouring channels: filter elements [input channel, window, output channel], each
// in `parts` of its terms.
constexpr int64_t kLeastTerms = 64, kMostParts = 1024;

AMPC_HOST_DEVICE inline int64_t Parts(const DirectConv& p) {
  const int64_t parts = Terms(p) / kLeastTerms;
  return parts < 1 ? 1 : parts > kMostParts ? kMostParts : parts;
}

AMPC_HOST_DEVICE inline VolumeIndex FilterPosition(const DirectConv& p, int64_t i) {
  VolumeIndex at;
  at.n = i % p.w.n;
  i /= p.w.n;
  for (int a = 2; a >= 0; --a) {
    at.s[a] = i % p.w.size[a];
    i /= p.w.size[a];
  }
  at.c = i;
  return at;
}

// One thread adds up one filter element over a part of the positions of y, walking from one to the next without a division.
template <class T>
struct FilterPartial {
  DirectConv p;
  float* partial;
  AMPC_DEVICE void operator()(int64_t i) const {
    const int64_t elements = Elements(p.w), parts = Parts(p), terms = Terms(p), part = i / elements;
    const int64_t begin = terms * part / parts, end = terms * (part + 1) / parts;
    const VolumeIndex filter = FilterPosition(p, i % elements);
    const int64_t x_channel = (filter.n / (p.y.c / p.groups) * p.w.c + filter.c) * p.x.stride_c;
    int64_t n = begin, y[3], first[3];
    for (int a = 2; a >= 0; --a) {
      y[a] = n % p.y.size[a];
      n /= p.y.size[a];
      first[a] = filter.s[a] * p.dilation[a] - p.before[a];
    }
    float sum = 0;
    for (int64_t t = begin; t < end; ++t) {
      int64_t from_x = x_channel + n * p.x.stride_n, from_y = filter.n * p.y.stride_c + n * p.y.stride_n;
      bool inside = true;
      for (int a = 0; a < 3; ++a) {
        const int64_t x = y[a] * p.step[a] + first[a];
        inside = inside && x >= 0 && x < p.x.size[a];
        from_x += x * p.x.stride[a];
        from_y += y[a] * p.y.stride[a];
      }
      if (inside) sum += At<T>(p.x, from_x) * At<T>(p.y, from_y);
      for (int a = 2; a >= 0 && ++y[a] == p.y.size[a]; --a) {
        y[a] = 0;
        if (a == 0) ++n;
      }
    }
    partial[i] = sum;
  }
};

template <class W>
struct AddFilterParts {
  DirectConv p;
  const float* partial;
  AMPC_DEVICE void operator()(int64_t i) const {
    const int64_t elements = Elements(p.w), parts = Parts(p);
    float sum = 0;
    for (int64_t part = 0; part < parts; ++part) sum += partial[part * elements + i];
    Store(static_cast<W*>(p.w.data)[OffsetOf(p.w, FilterPosition(p, i))], sum);
  }
};

template <class T, class W>
int RunFilterGradient(void* stream, const DirectConv& p, void* partial) {
  const int64_t elements = Elements(p.w);
  if (!p.y.channels_last) return ForEachTeam(stream, elements, Terms(p), FilterByTeam<T, W>{p});
  float* const sums = static_cast<float*>(partial);
  const int code = ForEach(stream, elements * Parts(p), FilterPartial<T>{p, sums});
  return code != 0 ? code : ForEach(stream, elements, AddFilterParts<W>{p, sums});
}

constexpr int64_t kTile = 32;

template <class From, class To>
struct TransposeTile {
  int64_t rows, cols;
  const From* from;
  To* to;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t t) const {
    float* const tile = static_cast<float*>(team.shared());  // one column more than needed: no bank is hit twice
    const int64_t across = (cols + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile, matrix = t / (across * down) * rows * cols;
    const int64_t row = t / across % down * kTile, col = t % across * kTile, n_rows = rows, n_cols = cols;
    const From* const in = from + matrix;
    To* const out = to + matrix;
    team.For(kTile * kTile, [=](int64_t i) {
      const int64_t r = row + i / kTile, c = col + i % kTile;
      if (r < n_rows && c < n_cols) tile[i / kTile * (kTile + 1) + i % kTile] = Load(in[r * n_cols + c]);
    });
    team.For(kTile * kTile, [=](int64_t i) {
      const int64_t c = col + i / kTile, r = row + i % kTile;
      if (r < n_rows && c < n_cols) Store(out[c * n_rows + r], tile[i % kTile * (kTile + 1) + i / kTile]);
    });
  }
};

template <class From, class To>
int RunTranspose(void* stream, int64_t batch, int64_t rows, int64_t cols, const void* from, void* to) {
  const int64_t tiles = batch * ((rows + kTile - 1) / kTile) * ((cols + kTile - 1) / kTile);
  return ForEachTeam(stream, tiles, kTile * kTile,
                     TransposeTile<From, To>{rows, cols, static_cast<const From*>(from), static_cast<To*>(to)},
                     static_cast<int>(kTile * (kTile + 1) * sizeof(float)));
}

template <template <class, class> class Functor>
int RunDirect(void* stream, const DirectConv& p, const ConvEpilogue& e, const Volume& result) {
  return VisitTypes(p.y.type, p.w.type, [&](auto t, auto w) {
    return ForEach(stream, Elements(result), Functor<typename decltype(t)::Type, typename decltype(w)::Type>{p, e});
  });
}

}  // namespace

int LaunchDirectForward(void* stream, const DirectConv& conv, const ConvEpilogue& epilogue) {
  return RunDirect<Forward>(stream, conv, epilogue, conv.y);
}

int LaunchDirectInputGradient(void* stream, const DirectConv& conv, const ConvEpilogue& epilogue) {
  return RunDirect<InputGradient>(stream, conv, epilogue, conv.x);
}

int LaunchDirectFilterGradient(void* stream, const DirectConv& conv, void* partial) {
  return VisitTypes(conv.y.type, conv.w.type, [&](auto t, auto w) {
    return RunFilterGradient<typename decltype(t)::Type, typename decltype(w)::Type>(stream, conv, partial);
  });
}

int64_t DirectFilterPartialBytes(const DirectConv& conv) {
  return conv.y.channels_last ? Elements(conv.w) * Parts(conv) * static_cast<int64_t>(sizeof(float)) : 0;
}

int LaunchConvTranspose(void* stream, int64_t batch, int64_t rows, int64_t cols, DType from_type, const void* from, DType to_type,
                        void* to) {
  return VisitSingle(from_type, [&](auto f) {
    return VisitSingle(to_type, [&](auto t) {
      return RunTranspose<typename decltype(f)::Type, typename decltype(t)::Type>(stream, batch, rows, cols, from, to);
    });
  });
}

}  // namespace ampc::cuda
