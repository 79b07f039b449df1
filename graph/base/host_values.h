// The elements of tensors of several types as one type.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/base/host_tensor.h"

namespace ampc {

// Of bool and integers of any width; nullopt for other types.
std::optional<std::vector<int64_t>> IntegersOf(const HostTensor& tensor);
// Of f16, bf16 and f32; nullopt for other types.
std::optional<std::vector<float>> FloatsOf(const HostTensor& tensor);

}  // namespace ampc
