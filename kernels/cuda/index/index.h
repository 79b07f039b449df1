// Slices taken from, put at and added at positions that an index gives.
//
// Nobody on the host sees the numbers of an index, so none is an error. A position out of range takes NaN (0 for types without one);
// values that go to one go nowhere.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::cuda {

inline constexpr int kMaxDepth = 8;

// rows x depth numbers; row r names slice ((n0 * sizes[1] + n1) * sizes[2] + n2) ...
struct Positions {
  const void* index = nullptr;
  DType type = DType::kI64;  // or kI32
  bool from_end = false;     // of PositionIn (kernels/common/position.h)
  int depth = 1;
  int64_t sizes[kMaxDepth] = {};
  int64_t padding = -1;  // depth 1: a number from 0 on that names no slice and takes zeros; -1 for none
};

// Element i of [outer, count, inner] belongs to [o, index[i], i] of [outer, slots, inner].
struct AlongAxis {
  const void* index = nullptr;
  DType type = DType::kI64;  // or kI32
  bool from_end = false;
  int64_t outer = 1, slots = 1, count = 1, inner = 1;
};

// 16 bytes of NaN, or of 0.
struct Missing {
  unsigned char bytes[16] = {};
};
Missing MissingValue(DType type);

// `outer` times: row i of `bytes` bytes is row At(i) of `slots`.
struct TakeParams {
  Positions at;
  int64_t outer = 1, count = 0, slots = 0, bytes = 0;
  Missing missing;
};
int LaunchTake(void* stream, const TakeParams& p, const void* x, void* out);
// Elements of `size` bytes.
int LaunchTakeAlong(void* stream, const AlongAxis& a, int64_t size, const Missing& missing, const void* x, void* out);

// keys[i]: the position of row or element i, `slots` (all elements of the table) where it is none.
int LaunchKeys(void* stream, const Positions& at, int64_t count, int64_t slots, uint32_t* keys);
int LaunchKeysAlong(void* stream, const AlongAxis& a, uint32_t* keys);
// keys[i] = 0 where element i of the mask is not 0 (NaN is not), else 1.
int LaunchMaskKeys(void* stream, DType type, const void* mask, int64_t n, uint32_t* keys);

// Rows in the order of their keys (which are sorted, stably): `outer` times `count` rows of `width` elements.
struct SortedRows {
  const uint32_t* keys = nullptr;
  const uint32_t* order = nullptr;
  int64_t outer = 1, slots = 0, count = 0, width = 1;
};
// Adds to the rows of `to` that have a key, one row after the other, where many have one key in stretches; halves in f32, rounded once.
// `type`: a float, i32, i64. from_zero: what lies in those rows counts for nothing. The workspace has SumBytes.
int64_t SumBytes(DType type, int64_t outer, int64_t count, int64_t width);
int LaunchSumRows(void* stream, DType type, const SortedRows& rows, bool from_zero, const void* from, void* to, void* workspace);
// Of the rows with one key the last goes to `to`; `outer` is 1, a row has `width` bytes.
int LaunchPutLast(void* stream, const SortedRows& rows, const void* from, void* to);
// Row i of `to` is row keys[i] of `from` where i is the last with that key, else 0; likewise.
int LaunchTakeLast(void* stream, const SortedRows& rows, const void* from, void* to);

// Rows that `at` names are filled with 0; `bytes` bytes each.
int LaunchZeroRows(void* stream, const Positions& at, int64_t count, int64_t slots, int64_t bytes, void* to);
// to[order[i]] = from[i] for the first `count` numbers whose key is 0; elements of `size` bytes.
int LaunchUnselect(void* stream, const uint32_t* keys, const uint32_t* order, int64_t count, int64_t size, const void* from, void* to);

}  // namespace ampc::cuda
