// Linked into a test, limits oneDNN and Highway to AVX2, whatever the CPU has beyond it: most machines end there.
#include <cstdlib>

#include "kernels/cpu/simd/targets.h"

#include "hwy/highway.h"
#include "hwy/targets.h"

namespace {

[[maybe_unused]] const bool kLimited = [] {
  setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
#if HWY_ARCH_X86
  hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
#endif
  return true;
}();

}  // namespace
