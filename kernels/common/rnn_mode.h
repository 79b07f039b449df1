// The computation in a step of a recurrent network: numbers only, for host and device code.
#pragma once

#include <cstdint>

namespace ampc {

enum class RnnMode : uint8_t { kLstm, kGru, kTanh, kRelu };

}  // namespace ampc
