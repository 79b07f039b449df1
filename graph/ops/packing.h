// The buffer that c_allreduce_start fills and c_allreduce_finish reads, for records and kernels.
#pragma once

#include <cstdint>

namespace ampc {

// The room that a tensor has in the buffer of an exchange: whole vectors of 4.
inline int64_t PackedElements(int64_t elements) { return (elements + 3) / 4 * 4; }

}  // namespace ampc
