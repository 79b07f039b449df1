#include "passes/amp/protect/stored_sums.h"

#include <cmath>
#include <limits>

#include "passes/amp/protect/stored_losses.h"

namespace ampc {
namespace {

bool AllFinite(const RowSums& sums) {
  for (size_t r = 0; r < sums.positive.size(); ++r) {
    if (!std::isfinite(sums.positive[r]) || !std::isfinite(sums.negative[r])) return false;
  }
  return true;
}

// Adds the values of one window. `first`: the place of its first element.
void AddWindow(absl::Span<const float> values, int64_t first, const RowLayout& layout, RowSums* sums) {
  int64_t row = first / layout.inner % layout.rows, in_row = first % layout.inner;
  for (const float value : values) {
    (value > 0 ? sums->positive : sums->negative)[row] += value;  // NaN is in one of them
    if (++in_row < layout.inner) continue;
    in_row = 0;
    if (++row == layout.rows) row = 0;
  }
}

}  // namespace

bool StoredSums::MayRead(const Var& var) {
  const uint64_t bytes = static_cast<uint64_t>(StoredElements(var)) * sizeof(float);
  if (bytes == 0 || read_ + bytes > kMostBytesForBounds) return false;
  read_ += bytes;
  return true;
}

const RowSums* StoredSums::Rows(const Var& var, const RowLayout& layout) {
  const auto [it, added] = rows_.try_emplace({var.id(), layout.rows, layout.inner});
  RowSums& sums = it->second;
  const int64_t block = layout.rows > 0 && layout.inner > 0 ? layout.rows * layout.inner : 0;
  if (added && block > 0 && StoredElements(var) % block == 0 && MayRead(var)) {
    sums.positive.assign(layout.rows, 0);
    sums.negative.assign(layout.rows, 0);
    int64_t first = 0;
    ForEachStored(var, [&](absl::Span<const float> values) {
      AddWindow(values, first, layout, &sums);
      first += static_cast<int64_t>(values.size());
    });
    if (!AllFinite(sums)) sums = RowSums();
  }
  return sums.positive.empty() ? nullptr : &sums;
}

Bounds StoredSums::Hull(const Var& var) {
  const auto [it, added] = hulls_.try_emplace(var.id());
  if (added && MayRead(var)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Bounds hull{kInfinity, -kInfinity};
    bool finite = true;
    ForEachStored(var, [&](absl::Span<const float> values) {
      for (const float value : values) {
        finite = finite && std::isfinite(value);
        hull = Union(hull, {value, value});
      }
    });
    if (finite) it->second = hull;
  }
  return it->second;
}

}  // namespace ampc
