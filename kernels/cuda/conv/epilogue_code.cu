#include "kernels/cuda/conv/conv_code.h"
#include "kernels/cuda/conv/epilogue.h"
#include "kernels/cuda/conv/visit_types.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

// Each tensor in its own layout.
template <class T, class From>
struct AnyLayout {
  Volume from, to;
  ConvEpilogue e;
  AMPC_DEVICE void operator()(int64_t i) const {
    const VolumeIndex at = IndexAt(to, i);
    const float sum = Load(static_cast<const From*>(from.data)[OffsetOf(from, at)]);
    const float residual = e.residual.data == nullptr ? 0.0f : Load(static_cast<const T*>(e.residual.data)[OffsetOf(e.residual, at)]);
    Store(static_cast<T*>(to.data)[i], Finish<T>(e, at.c, sum, residual));
  }
};

template <class T, int kCount>
struct alignas(16) Pack {
  T at[kCount];
};

// All in one layout, whose rows of channels or positions are whole packs.
template <class T, class From>
struct OneLayout {
  static constexpr int kPack = 16 / static_cast<int>(sizeof(T));
  const Pack<From, kPack>* from;
  Pack<T, kPack>* to;
  int64_t channels, positions;  // positions is 1 where channels lie last
  ConvEpilogue e;
  AMPC_DEVICE void operator()(int64_t i) const {
    const Pack<From, kPack> sums = from[i];
    Pack<T, kPack> result, residual;
    const bool adds = e.residual.data != nullptr;
    if (adds) residual = static_cast<const Pack<T, kPack>*>(e.residual.data)[i];
    int64_t c = i * kPack / positions % channels;
    for (int k = 0; k < kPack; ++k) {
      Store(result.at[k], Finish<T>(e, c, Load(sums.at[k]), adds ? Load(residual.at[k]) : 0.0f));
      if (positions == 1) ++c;
    }
    to[i] = result;
  }
};

bool InPacks(const Volume& from, const Volume& to, const Volume& residual) {
  const int64_t positions = to.size[0] * to.size[1] * to.size[2], pack = 16 / static_cast<int64_t>(SizeOf(to.type));
  if (from.channels_last != to.channels_last || (residual.data != nullptr && residual.channels_last != to.channels_last)) return false;
  if (!IsAligned(from.data) || !IsAligned(to.data) || !IsAligned(residual.data)) return false;
  return (to.channels_last ? to.c : positions) % pack == 0;
}

template <class T, class From>
int Run(void* stream, const Volume& from, const Volume& to, const ConvEpilogue& e) {
  if (!InPacks(from, to, e.residual)) return ForEach(stream, Elements(to), AnyLayout<T, From>{from, to, e});
  using F = OneLayout<T, From>;
  const int64_t positions = to.channels_last ? 1 : to.size[0] * to.size[1] * to.size[2];
  const F f{static_cast<const Pack<From, F::kPack>*>(from.data), static_cast<Pack<T, F::kPack>*>(to.data), to.c, positions, e};
  return ForEach(stream, Elements(to) / F::kPack, f);
}

}  // namespace

int LaunchConvEpilogue(void* stream, const Volume& from, const Volume& to, const ConvEpilogue& epilogue) {
  return VisitTypes(to.type, from.type, [&](auto t, auto f) {
    return Run<typename decltype(t)::Type, typename decltype(f)::Type>(stream, from, to, epilogue);
  });
}

}  // namespace ampc::cuda
