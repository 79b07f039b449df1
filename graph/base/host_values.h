// The elements of tensors of several types as one type.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/base/host_tensor.h"

namespace ampc {

// Of bool and integers of any width; nullopt for other types.
std::optional<std::vector<int64_t>> IntegersOf(const HostTensor& tensor);
// The number itself; nullopt where a double only has a neighbour of it.
std::optional<double> ExactDouble(int64_t value);
// Of f16, bf16 and f32; nullopt for other types.
std::optional<std::vector<float>> FloatsOf(const HostTensor& tensor);

}  // namespace ampc
