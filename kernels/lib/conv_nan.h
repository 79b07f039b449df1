// Convolutions whose activation keeps NaN, although oneDNN's does not.
#pragma once

#include <memory>

#include "kernels/lib/conv.h"

namespace ampc::onednn {

// `fused` computes `spec`. If it meets NaN, which the CPU notes at no cost, the convolution is computed again and its activation by
// itself, and what is not finite then is the result; a run without NaN takes no longer, but for a look at a residual that lies in the
// result's memory. A constant `filter` is then read from the cache, if that can read it, else from ConvBuffers::filter.
std::unique_ptr<Conv> KeepNan(std::unique_ptr<Conv> fused, const ConvSpec& spec, const HostTensor* filter, const WeightCache* cache);

}  // namespace ampc::onednn
