#include "kernels/cuda/sort/ordering.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/cuda/sort/radix_sort.h"
#include "kernels/cuda/sort/sort.h"

namespace ampc::cuda {

absl::StatusOr<Ordering> Ordering::Plan(const SpecView& view, int64_t n, int64_t keys) {
  if (n > INT32_MAX || keys > INT32_MAX)
    return view.Unsupported(absl::StrCat("the device orders less than 2^31 positions, needed ", n, " of ", keys));
  Ordering o;
  o.n_ = n;
  while ((int64_t{1} << o.bits_) < keys) ++o.bits_;
  o.part_ = (n * static_cast<int64_t>(sizeof(uint32_t)) + 255) / 256 * 256;
  o.scratch_ = n == 0 ? 0 : SortPairsBytes(n, o.bits_, /*wide=*/false);
  if (o.scratch_ < 0) return InternalError(absl::StrCat("the device's sort gave code ", -o.scratch_));
  return o;
}

int Ordering::Launch(void* stream, void* workspace) const {
  uint32_t* const numbers = Part(workspace, 2);
  if (const int code = LaunchCount(stream, numbers, n_); code != 0) return code;
  return LaunchSortPairs(stream, {n_, bits_, keys(workspace), sorted_keys(workspace), numbers, order(workspace), false},
                         static_cast<char*>(workspace) + 4 * part_, scratch_);
}

}  // namespace ampc::cuda
