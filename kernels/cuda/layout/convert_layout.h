// Launcher of the conversion between memory orders.
#pragma once

#include <cstdint>

namespace ampc::cuda {

// out[b][c][r] = in[b][r][c] for `batch` matrices of rows x cols elements of `width` bytes (1, 2, 4, 8 or 16).
struct TransposeParams {
  const void* in = nullptr;
  void* out = nullptr;
  int64_t batch = 0, rows = 0, cols = 0;
  int64_t width = 0;
};

int LaunchTranspose(void* stream, const TransposeParams& p);

}  // namespace ampc::cuda
