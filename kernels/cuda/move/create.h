// Results that depend on positions: ranges, unit matrices, one-hot rows, triangles.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::cuda {

// start + i * step from one element each in `type` (f32, f64, i32, i64): floats with one rounding per operation in double and one at the
// end, integers wrap.
int LaunchRange(void* stream, DType type, const void* start, const void* step, int64_t n, void* out);

// A number on the device, or known on the host where `at` is null.
struct DeviceNumber {
  const void* at = nullptr;
  DType type = DType::kF32;
  double fixed = 0;
};
// n numbers from `start` to `stop`, from both ends, so that the last is `stop`; computed in f32, for f64 in f64.
int LaunchLinspace(void* stream, DType type, const DeviceNumber& start, const DeviceNumber& stop, int64_t n, void* out);

int LaunchEye(void* stream, DType type, int64_t rows, int64_t columns, void* out);

// n rows of `depth` zeros with a 1 at each index (`index_type` i32 or i64); a row whose index lies outside has none.
int LaunchOneHot(void* stream, DType type, DType index_type, const void* index, int64_t n, int64_t depth, void* out);

// Matrices of elements of `size` bytes: what lies up to (`lower`) or from the diagonal is kept, the rest is 0.
struct TriangleParams {
  int64_t size = 4, elements = 0, rows = 0, columns = 0, diagonal = 0;
  bool lower = true;
};
int LaunchTriangle(void* stream, const TriangleParams& p, const void* x, void* out);

}  // namespace ampc::cuda
