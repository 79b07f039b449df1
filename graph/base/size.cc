#include "graph/base/size.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>

namespace ampc {

int64_t MostBytes() {
  static const int64_t machine = [] {
    struct sysinfo info = {};
    if (sysinfo(&info) != 0) return kMostAddresses;
    return std::min(SatMul(SatAdd(static_cast<int64_t>(info.totalram), static_cast<int64_t>(info.totalswap)), info.mem_unit),
                    kMostAddresses);
  }();
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(machine)) return machine;
  return static_cast<int64_t>(limit.rlim_cur);
}

int64_t SpannedBytes(DType dtype, absl::Span<const int64_t> dims) {
  int64_t bytes = std::max<int64_t>(static_cast<int64_t>(SizeOf(dtype)), 1);
  for (const int64_t dim : dims) bytes = SatMul(bytes, std::max<int64_t>(dim, 1));
  return bytes;
}

}  // namespace ampc
