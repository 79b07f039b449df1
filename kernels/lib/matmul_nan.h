// Products whose activation keeps NaN, although oneDNN's does not.
#pragma once

#include <memory>

#include "kernels/lib/matmul.h"

namespace ampc::onednn {

// `fused` computes `spec`. If it meets NaN, which the CPU notes at no cost, the product is computed again and its activation by itself,
// and what is not finite then is the result; a run without NaN takes no longer. A constant `b` is then read from the cache,
// if that can read it, else from MatmulBuffers::b.
std::unique_ptr<Matmul> KeepNan(std::unique_ptr<Matmul> fused, const MatmulSpec& spec, const HostTensor* b, const WeightCache* cache);

}  // namespace ampc::onednn
