#include "kernels/cuda/sort/radix_sort.h"

#include "kernels/cuda/launch/launch.h"

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#else
#include <algorithm>
#include <numeric>
#include <vector>
#endif

namespace ampc::cuda {
namespace {

#if defined(__CUDACC__)

template <class Key>
cudaError_t Sort(void* stream, const SortPairsParams& p, void* scratch, size_t* bytes) {
  return cub::DeviceRadixSort::SortPairs(scratch, *bytes, static_cast<const Key*>(p.keys_in), static_cast<Key*>(p.keys_out), p.values_in,
                                         p.values_out, static_cast<int>(p.n), 0, p.bits, static_cast<cudaStream_t>(stream));
}

#else

template <class Key>
int Sort(void* stream, const SortPairsParams& p) {
  return EnqueueEmulated(stream, [p] {
    const Key* const keys = static_cast<const Key*>(p.keys_in);
    const Key mask = p.bits == 8 * sizeof(Key) ? ~Key{0} : (Key{1} << p.bits) - 1;
    std::vector<int64_t> order(static_cast<size_t>(p.n));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) { return (keys[a] & mask) < (keys[b] & mask); });
    for (size_t i = 0; i < order.size(); ++i) {
      static_cast<Key*>(p.keys_out)[i] = keys[order[i]];
      p.values_out[i] = p.values_in[order[i]];
    }
  });
}

#endif

}  // namespace

int64_t SortPairsBytes([[maybe_unused]] int64_t n, [[maybe_unused]] int bits, [[maybe_unused]] bool wide) {
#if defined(__CUDACC__)
  SortPairsParams p;
  p.n = n;
  p.bits = bits;
  size_t bytes = 0;
  const cudaError_t error = wide ? Sort<uint64_t>(nullptr, p, nullptr, &bytes) : Sort<uint32_t>(nullptr, p, nullptr, &bytes);
  return error == cudaSuccess ? static_cast<int64_t>(bytes) : -static_cast<int64_t>(error);
#else
  return 0;
#endif
}

int LaunchSortPairs(void* stream, const SortPairsParams& p, [[maybe_unused]] void* scratch, [[maybe_unused]] int64_t scratch_bytes) {
  if (p.n == 0) return 0;
#if defined(__CUDACC__)
  size_t bytes = static_cast<size_t>(scratch_bytes);
  return static_cast<int>(p.wide ? Sort<uint64_t>(stream, p, scratch, &bytes) : Sort<uint32_t>(stream, p, scratch, &bytes));
#else
  return p.wide ? Sort<uint64_t>(stream, p) : Sort<uint32_t>(stream, p);
#endif
}

}  // namespace ampc::cuda
