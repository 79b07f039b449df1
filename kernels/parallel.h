// Loops over threads: the one pool of the process (OpenMP, which oneDNN uses too) behind one function.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace ampc {

// Calls body(first, last) for consecutive ranges that cover [0, n), on up to `threads` threads; at most one range per thread, none
// shorter than `grain` unless it is the only one. The ranges depend on `threads`, so the body computes each index by itself: a sum
// over indexes is cut into blocks of fixed size first, and the index is that of the block. Inside another parallel loop it is serial.
void ParallelFor(int threads, int64_t n, int64_t grain, absl::FunctionRef<void(int64_t first, int64_t last)> body);

// Sets the number of threads that OpenMP code called from this thread uses, for the life of the object.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads);
  ScopedThreads(const ScopedThreads&) = delete;
  ~ScopedThreads();

 private:
  int before_;
};

}  // namespace ampc
