#include "kernels/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

#include "kernels/nan_watch.h"

namespace ampc {

void ParallelFor(int threads, int64_t n, int64_t grain, absl::FunctionRef<void(int64_t first, int64_t last)> body) {
  if (n <= 0) return;
  const int64_t parts = std::min<int64_t>(threads, n / std::max<int64_t>(1, grain));
  if (parts <= 1 || omp_in_parallel()) {
    body(0, n);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(parts))
  {
    // The team may be smaller than asked for.
    const int64_t team = omp_get_num_threads();
    const int64_t i = omp_get_thread_num();
    const int64_t first = n / team * i + std::min(i, n % team);
    const int64_t last = first + n / team + (i < n % team ? 1 : 0);
    body(first, last);
    TakeMetNan();
  }
}

bool TakeMetNanOf(int threads) {
  if (threads <= 1 || omp_in_parallel()) return TakeMetNan();
  std::atomic<bool> met{false};
#pragma omp parallel num_threads(threads)
  {
    if (TakeMetNan()) met.store(true, std::memory_order_relaxed);
  }
  return met.load(std::memory_order_relaxed);
}

ScopedThreads::ScopedThreads(int threads) : before_(omp_get_max_threads()) {
  if (threads != before_) omp_set_num_threads(std::max(1, threads));
}

ScopedThreads::~ScopedThreads() {
  if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
}

}  // namespace ampc
