#include "kernels/cuda/base/visit_single.h"
#include "kernels/cuda/conv/conv_code.h"
#include "kernels/cuda/conv/epilogue.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

// Channels of 16 bytes.
template <class T>
constexpr int kPack = 16 / static_cast<int>(sizeof(T));

template <class T>
struct alignas(16) Pack {
  T at[kPack<T>];
};

// Along one axis: where the tap of the element at `to` reads; false where that is outside. Forward: from x for y; else from y for x.
template <bool kForward>
AMPC_HOST_DEVICE inline bool Source(const DirectConv& p, int axis, int64_t to, int64_t tap, int64_t* from) {
  if (kForward) {
    *from = to * p.step[axis] + tap * p.dilation[axis] - p.before[axis];
    return *from >= 0 && *from < p.x.size[axis];
  }
  const int64_t at = to + p.before[axis] - tap * p.dilation[axis];
  *from = at / p.step[axis];
  return at >= 0 && at % p.step[axis] == 0 && *from < p.y.size[axis];
}

// One thread per position and pack of channels; the filter is f32 [window, channels].
template <class T, bool kForward>
struct DepthwisePack {
  DirectConv p;
  ConvEpilogue e;
  const float* filter;
  AMPC_DEVICE void operator()(int64_t i) const {
    const Volume &from = kForward ? p.x : p.y, &to = kForward ? p.y : p.x;
    VolumeIndex at = IndexAt(to, i * kPack<T>);
    const int64_t image = at.n * from.stride_n + at.c;
    float sums[kPack<T>] = {};
    int64_t s[3];
    for (int64_t d = 0; d < p.w.size[0]; ++d) {
      if (!Source<kForward>(p, 0, at.s[0], d, &s[0])) continue;
      for (int64_t h = 0; h < p.w.size[1]; ++h) {
        if (!Source<kForward>(p, 1, at.s[1], h, &s[1])) continue;
        const int64_t row = image + s[0] * from.stride[0] + s[1] * from.stride[1];
        for (int64_t v = 0; v < p.w.size[2]; ++v) {
          if (!Source<kForward>(p, 2, at.s[2], v, &s[2])) continue;
          const Pack<T> values = *reinterpret_cast<const Pack<T>*>(static_cast<const T*>(from.data) + row + s[2] * from.stride[2]);
          const float* const w = filter + ((d * p.w.size[1] + h) * p.w.size[2] + v) * to.c + at.c;
          for (int k = 0; k < kPack<T>; ++k) sums[k] += Load(values.at[k]) * w[k];
        }
      }
    }
    Pack<T> result;
    for (int k = 0; k < kPack<T>; ++k, ++at.c) Store(result.at[k], Finish<T>(e, at, sums[k]));
    static_cast<Pack<T>*>(to.data)[i] = result;
  }
};

template <class T>
int Run(void* stream, const DirectConv& p, bool forward, const ConvEpilogue& e, const float* filter) {
  const int64_t packs = Elements(forward ? p.y : p.x) / kPack<T>;
  return forward ? ForEach(stream, packs, DepthwisePack<T, true>{p, e, filter})
                 : ForEach(stream, packs, DepthwisePack<T, false>{p, e, filter});
}

}  // namespace

bool IsDepthwisePacked(const DirectConv& conv) {
  const int64_t c = conv.y.c, pack = 16 / static_cast<int64_t>(SizeOf(conv.y.type));
  return conv.x.channels_last && conv.y.channels_last && conv.groups == c && conv.x.c == c && c % pack == 0 && IsAligned(conv.x.data) &&
         IsAligned(conv.y.data);
}

int LaunchDepthwisePacked(void* stream, const DirectConv& conv, bool forward, const ConvEpilogue& epilogue, const float* filter) {
  return VisitSingle(conv.y.type, [&](auto tag) { return Run<typename decltype(tag)::Type>(stream, conv, forward, epilogue, filter); });
}

}  // namespace ampc::cuda
