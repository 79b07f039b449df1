// Sorts of lines: keys whose order as unsigned numbers is that of the values. NaN lies above every number, zeros are equal.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::cuda {

// outer x size x inner elements of `type` (f32, f16, bf16, f64, u8, i16, i32, i64); lines run along the middle.
struct SortLines {
  DType type = DType::kF32;
  int64_t outer = 1, size = 1, inner = 1, kept = 1;  // kept: elements of a line that are wanted
  bool descending = false;
};

// numbers[i] = i.
int LaunchCount(void* stream, uint32_t* numbers, int64_t n);
// keys[line * size + j]: the element's key, line after line.
int LaunchSortKeys(void* stream, const SortLines& p, const void* x, uint64_t* keys);
// out[i]: the line that number in[i] lies in.
int LaunchLineOf(void* stream, const uint32_t* in, uint32_t* out, int64_t n, int64_t size);
// The results from `order`, which has the numbers line * size + j of each line in order.
int LaunchTakeSorted(void* stream, const SortLines& p, const void* x, const uint32_t* order, void* out, int64_t* indices);
// The first few of each line by repeated search: for kept up to kMaxSelected.
inline constexpr int64_t kMaxSelected = 32;
int LaunchSelect(void* stream, const SortLines& p, const void* x, void* out, int64_t* indices);

}  // namespace ampc::cuda
