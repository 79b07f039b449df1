// StridedCopy: an n-dimensional copy between two arrays with any strides, by element size only; what transposes, slices, joins,
// broadcasts and tilings are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ampc {

class StridedCopy {
 public:
  StridedCopy() = default;  // copies nothing
  // Strides count elements of `size` bytes (1, 2, 4, 8 or 16). A source stride may be 0 (repeat) or negative; destination elements
  // must be distinct. Dimensions of size 1 go and dimensions that lie dense in each other join.
  StridedCopy(absl::Span<const int64_t> dims, absl::Span<const int64_t> from, absl::Span<const int64_t> to, int64_t size);

  // One dense block, or nothing.
  bool IsDense() const { return outer_.empty() && inner_.size <= 1 && across_.size == 0; }
  // The arrays do not overlap.
  void Run(const void* from, void* to, int threads) const;

 private:
  struct Axis {
    int64_t size, from, to;  // strides in bytes
  };
  using LineFn = void (*)(const char* from, char* to, const Axis& axis, int64_t unit);
  using BlockFn = void (*)(const char* from, char* to, const Axis& across, const Axis& along, int64_t first, int64_t last);

  void ChooseTranspose();
  template <typename F>
  void ForEachOuter(int64_t first, int64_t last, F&& f) const;
  void RunWhole(const void* from, void* to, int threads) const;
  void RunLines(const char* from, char* to, int threads) const;
  void RunTransposed(const char* from, char* to, int threads) const;

  std::vector<Axis> outer_;  // outermost first
  Axis inner_ = {0, 0, 0};   // the loop over units
  Axis across_ = {0, 0, 0};  // transposing: the dimension that is dense in the source; size 0 when there is none
  int64_t unit_ = 0;         // bytes that are dense in both
  int64_t rows_ = 0;         // product of outer_
};

}  // namespace ampc
