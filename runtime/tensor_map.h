// TensorMap: feeds and fetches by name.
#pragma once

#include <map>
#include <string>

#include "graph/base/host_tensor.h"

namespace ampc {

using TensorMap = std::map<std::string, HostTensor>;

}  // namespace ampc
