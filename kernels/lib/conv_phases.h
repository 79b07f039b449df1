// Transposed convolutions as convolutions: results that are a stride apart see the same taps of the filter.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "kernels/lib/conv.h"
#include "kernels/weight_cache.h"

namespace ampc::onednn {

// As MakeConv, of a transposed convolution with a constant filter; null where it had better be run as it is.
absl::StatusOr<std::unique_ptr<Conv>> MakePhases(const ConvSpec& spec, const HostTensor& filter, WeightCache* cache);

}  // namespace ampc::onednn
