// The random choice of dropout: a function of a seed and a position, the same on every device and with any number of threads.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc {

// Mixes all bits of `x` (the finaliser of SplitMix64).
AMPC_HOST_DEVICE inline uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Elements are kept where a random number of 53 bits is not below this: with probability 1 - `drop`.
AMPC_HOST_DEVICE inline uint64_t KeepThreshold(double drop) { return static_cast<uint64_t>(drop * 0x1p53); }

// Whether element `i` is kept; `key` = MixBits(seed).
AMPC_HOST_DEVICE inline bool Keep(uint64_t key, uint64_t i, uint64_t threshold) { return (MixBits(key + i) >> 11) >= threshold; }

}  // namespace ampc
