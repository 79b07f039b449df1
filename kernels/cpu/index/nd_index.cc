#include "kernels/cpu/index/nd_index.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {

absl::Status BadIndex(const std::string& name, int64_t position, int64_t value, int64_t size, bool from_end) {
  if (size == 0) return UsageError(absl::StrCat(name, ": index ", position, " is ", value, ", where there is no element"));
  return UsageError(absl::StrCat(name, ": index ", position, " is ", value, ", needs ", from_end ? -size : 0, " to ", size - 1));
}

namespace {

template <typename T>
bool PositionsOf(const NdIndexSpec& spec, const T* numbers, int64_t rows, int64_t* positions) {
  const int64_t depth = static_cast<int64_t>(spec.sizes.size());
  bool good = true;
  std::fill(positions, positions + rows, 0);
  for (int64_t k = 0; k < depth; ++k) {
    const int64_t size = spec.sizes[static_cast<size_t>(k)];
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t p = PositionIn(static_cast<int64_t>(numbers[row * depth + k]), size, spec.from_end);
      good &= p >= 0;
      positions[row] = positions[row] * size + p;
    }
  }
  return good;
}

}  // namespace

bool NdIndex::Positions(const KernelArgs& args, int64_t first, int64_t last, int64_t* positions) const {
  const int64_t skipped = first * static_cast<int64_t>(spec_.sizes.size()), rows = last - first;
  if (spec_.type == DType::kI64) {
    return PositionsOf(spec_, static_cast<const int64_t*>(args.inputs[spec_.flat]) + skipped, rows, positions);
  }
  return PositionsOf(spec_, static_cast<const int32_t*>(args.inputs[spec_.flat]) + skipped, rows, positions);
}

absl::Status NdIndex::Check(const KernelArgs& args) const {
  constexpr int64_t kTile = 256;
  int64_t positions[kTile];
  bool good = true;
  for (int64_t row = 0; row < spec_.rows; row += kTile) good &= Positions(args, row, std::min(spec_.rows, row + kTile), positions);
  if (good) return absl::OkStatus();
  for (int64_t row = 0; row < spec_.rows; ++row) {
    for (size_t k = 0; k < spec_.sizes.size(); ++k) {
      const int64_t v = Number(args, row, k);
      if (PositionIn(v, spec_.sizes[k], spec_.from_end) >= 0) continue;
      return BadIndex(name_, row * static_cast<int64_t>(spec_.sizes.size()) + static_cast<int64_t>(k), v, spec_.sizes[k], spec_.from_end);
    }
  }
  return absl::OkStatus();
}

}  // namespace ampc
