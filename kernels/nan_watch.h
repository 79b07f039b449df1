// Whether NaN was met, at no cost: the CPU notes where a comparison, a maximum or a minimum reads one, in a register of each thread that
// nothing else here uses. A note stays until it is taken; ParallelFor leaves nothing behind.
#pragma once

#include <xmmintrin.h>

namespace ampc {

// Whether this thread has met NaN (or made one) since the last call.
inline bool TakeMetNan() {
  constexpr unsigned kInvalid = 1;
  const unsigned flags = _mm_getcsr();
  if ((flags & kInvalid) == 0) return false;
  _mm_setcsr(flags & ~kInvalid);
  return true;
}

// The same of all threads of a team of this size, which a library has used.
bool TakeMetNanOf(int threads);

}  // namespace ampc
