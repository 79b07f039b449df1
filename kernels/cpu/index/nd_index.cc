#include "kernels/cpu/index/nd_index.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {

absl::Status BadIndex(const std::string& name, int64_t position, int64_t value, int64_t size, bool from_end) {
  if (size == 0) return UsageError(absl::StrCat(name, ": index ", position, " is ", value, ", where there is no element"));
  return UsageError(absl::StrCat(name, ": index ", position, " is ", value, ", needs ", from_end ? -size : 0, " to ", size - 1));
}

absl::Status NdIndex::Check(const KernelArgs& args) const {
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
