// StoredSums: what bounds ask of stored weights, each read once, window by window.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "graph/op_trait.h"
#include "graph/program.h"

namespace ampc {

// No more bytes of weights are read for bounds: what needs others is unknown. Decided by the program's order, never by the clock.
inline constexpr uint64_t kMostBytesForBounds = uint64_t{256} << 20;

// For each row the sum of its positive and the sum of its negative elements: x between l and h times the row is between
// positive * l + negative * h and positive * h + negative * l.
struct RowSums {
  std::vector<double> positive, negative;
};

// The element at `i` is in row (i / inner) % rows.
struct RowLayout {
  int64_t rows = 1, inner = 1;
};

class StoredSums {
 public:
  // Null where the values are not stored as f32 here, are not all finite, or were too many.
  const RowSums* Rows(const Var& var, const RowLayout& layout);
  // Between which elements all lie; unknown for the same reasons.
  Bounds Hull(const Var& var);

 private:
  bool MayRead(const Var& var);

  uint64_t read_ = 0;                                          // bytes
  std::map<std::tuple<int, int64_t, int64_t>, RowSums> rows_;  // by Var::id and layout; empty for null
  std::map<int, Bounds> hulls_;
};

}  // namespace ampc
