#include "kernels/cuda/collective/pack.h"

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/multi_tensor/chunks.h"
#include "kernels/cuda/multi_tensor/vectors.h"

namespace ampc::cuda {
namespace {

constexpr int kRun = 4;

// to[i] = from[i] * factor for kRun elements from `at` on, or as many as there are.
template <class From, class To>
AMPC_HOST_DEVICE inline void CopyRun(const From* from, To* to, int64_t at, int64_t n, bool aligned, float factor) {
  if (aligned && at + kRun <= n) {
    float values[kRun];
    LoadRun<kRun>(from + at, values);
    for (float& v : values) v *= factor;
    StoreRun<kRun>(to + at, values);
  } else {
    for (int64_t k = at; k < n && k < at + kRun; ++k) Store(to[k], Load(from[k]) * factor);
  }
}

template <bool kPack>
struct Copy {
  float* pack;
  float factor;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const PackTensor& t, const TensorPlace&, int64_t begin, int64_t n) const {
    switch (t.type) {
      case DType::kF16: return Run<Half>(team, t, begin, n);
      case DType::kBF16: return Run<BFloat16>(team, t, begin, n);
      default: return Run<float>(team, t, begin, n);
    }
  }
  template <class T, class Team>
  AMPC_DEVICE void Run(Team& team, const PackTensor& t, int64_t begin, int64_t n) const {
    float* in_pack = pack + t.offset + begin;
    const float by = factor;
    if constexpr (kPack) {
      const T* from = static_cast<const T*>(t.from) + begin;
      const bool aligned = IsAligned(in_pack) && IsAligned(from);
      team.For((n + kRun - 1) / kRun, [=](int64_t i) { CopyRun(from, in_pack, i * kRun, n, aligned, by); });
    } else {
      T* to = static_cast<T*>(t.to) + begin;
      const bool aligned = IsAligned(in_pack) && IsAligned(to);
      team.For((n + kRun - 1) / kRun, [=](int64_t i) { CopyRun(static_cast<const float*>(in_pack), to, i * kRun, n, aligned, by); });
    }
  }
};

}  // namespace

int LaunchPack(void* stream, const PackTensor* tensors, int64_t n, float* pack) {
  return ForEachChunk(stream, tensors, n, Copy<true>{pack, 1});
}

int LaunchUnpack(void* stream, const PackTensor* tensors, int64_t n, const float* pack, float factor) {
  return ForEachChunk(stream, tensors, n, Copy<false>{const_cast<float*>(pack), factor});
}

}  // namespace ampc::cuda
