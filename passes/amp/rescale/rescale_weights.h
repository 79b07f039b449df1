// rescale-weights: a weight of a convolution or product that f16 has as infinities, as zeros or with few bits is multiplied by a power of
// two, and with it what has to be so that what comes behind is exactly what it was (scaled_region.h):
//
//   const w = [2e6, ..]  const m, s        ->   const w = [0.9536743, ..]  const m * 2^-21, s * 2^21
//
// The power brings the largest magnitude to between 0.5 and 1, or, where further weights of the region may be low, all of them as close to
// that as can be. A weight stays as it is where its region leads to a fetch, where an op outside reads one of the region's values, and
// where a value would over- or underflow in f32; a note says so. In front of everything that looks at weights; a program that was converted
// before stays as it is, and running the pass twice changes nothing. Leaves a Rescaled, to be written down. O(program + bytes of weights),
// and of each region of a weight that is rescaled O(ops * log + bytes).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo RescaleWeightsPass();

}  // namespace ampc
