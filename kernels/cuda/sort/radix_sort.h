// Stable sorts of keys with a number each: CCCL's radix sort on a device, std::stable_sort on the emulated one. Kernels that need an
// order that does not depend on the device (sums at positions, ranks) build on it.
#pragma once

#include <cstdint>

namespace ampc::cuda {

// Of the lowest `bits` bits of n keys, n below 2^31. Sources are unchanged; nothing overlaps.
struct SortPairsParams {
  int64_t n = 0;
  int bits = 32;
  const void* keys_in = nullptr;  // uint32_t, or uint64_t if `wide`
  void* keys_out = nullptr;
  const uint32_t* values_in = nullptr;
  uint32_t* values_out = nullptr;
  bool wide = false;
};

// Bytes of scratch memory, 256-byte aligned, for pairs of that many; negative: the code of an error.
int64_t SortPairsBytes(int64_t n, int bits, bool wide);
int LaunchSortPairs(void* stream, const SortPairsParams& p, void* scratch, int64_t scratch_bytes);

}  // namespace ampc::cuda
