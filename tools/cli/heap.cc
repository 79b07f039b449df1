#include "tools/cli/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace ampc {
namespace {

constexpr size_t kReserved = size_t{1} << 30;  // addresses only: memory is taken as it is used
constexpr size_t kStep = size_t{1} << 26;      // beyond them
constexpr size_t kLargePage = size_t{1} << 21;

}  // namespace

void PrepareHeapForLargeProgram() {
  // If addresses are limited, a process that reserves many is refused when few would do.
  rlimit addresses = {};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) return;
  mallopt(M_MMAP_MAX, 0);  // what is freed is used again, large vectors too: pages are cleared once
  mallopt(M_TRIM_THRESHOLD, 2 * kReserved - 1);
  mallopt(M_TOP_PAD, kReserved);
  // More than is free at the top of the heap, so that it grows.
  void* grow = std::malloc(kLargePage);
  mallopt(M_TOP_PAD, kStep);
  const auto begin = reinterpret_cast<uintptr_t>(grow) / kLargePage * kLargePage + kLargePage;
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  std::free(grow);
  if (begin < end && end - begin <= 2 * kReserved) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace ampc
