// Include first, before <hwy/...>: which instruction sets the vector loops are compiled for. AVX2, AVX-512 and a portable
// base are kept on x86; a CPU that has SSSE3 or SSE4 but not AVX2 runs the base.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
