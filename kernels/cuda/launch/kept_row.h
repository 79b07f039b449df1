// KeptRow: a row that is read from memory once, and then from the team's own memory where it fits.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/launch/rows.h"

namespace ampc::cuda {

// Bytes of shared memory that `rows` rows of n elements of T need; 0 where they do not fit.
template <class T>
int KeptRowBytes(int64_t n, int rows) {
  const int64_t one = (n * static_cast<int64_t>(sizeof(ComputeType<T>)) + 15) / 16 * 16;
  return one * rows <= kSharedBytes ? static_cast<int>(one * rows) : 0;
}

// Every element must be read by First before Again, by the same loop (same thread, same width).
template <class T>
class KeptRow {
 public:
  using C = ComputeType<T>;
  // Row number `index` of those that the team keeps, of n elements each; `keep`: KeptRowBytes was not 0.
  template <class Team>
  AMPC_DEVICE KeptRow(Team& team, Row<const T> row, int64_t n, bool keep, int index = 0) : row_(row) {
    const int64_t stride = (n * static_cast<int64_t>(sizeof(C)) + 15) / 16 * 16;
    char* shared = static_cast<char*>(team.shared());
    kept_ = keep && shared != nullptr ? reinterpret_cast<C*>(shared + index * stride) : nullptr;
  }
  template <int kCount>
  AMPC_DEVICE Values<C, kCount> First(int64_t i, Width<kCount> width) const {
    const Values<C, kCount> values = row_.Get(i, width);
    Keep(i, values);
    return values;
  }
  template <int kCount>
  AMPC_DEVICE Values<C, kCount> Again(int64_t i, Width<kCount> width) const {
    if (kept_ == nullptr) return row_.Get(i, width);
    Values<C, kCount> values;
    for (int k = 0; k < kCount; ++k) values.v[k] = kept_[i + k];
    return values;
  }
  // Other values in place of the row's, where it is kept; else Again reads the row.
  template <int kCount>
  AMPC_DEVICE void Keep(int64_t i, const Values<C, kCount>& values) const {
    if (kept_ == nullptr) return;
    for (int k = 0; k < kCount; ++k) kept_[i + k] = values.v[k];
  }
  AMPC_DEVICE bool kept() const { return kept_ != nullptr; }

 private:
  Row<const T> row_;
  C* kept_;
};

// The largest of n elements, which are read for the first time.
template <class T, class Team>
AMPC_DEVICE ComputeType<T> LargestOfRow(Team& team, const KeptRow<T>& x, int64_t n, bool packs) {
  using C = ComputeType<T>;
  return ReduceRow<T>(
      team, n, packs, -std::numeric_limits<C>::infinity(),
      [&](int64_t i, auto width) {
        const auto v = x.First(i, width);
        C most = v.v[0];
        for (int k = 1; k < width.value; ++k) most = Largest()(most, v.v[k]);
        return most;
      },
      Largest());
}

}  // namespace ampc::cuda
