// Conversion of an array from one declared type to another, in storage types.
//   float -> integer   toward zero; out of range the nearest end of the integer type; NaN gives 0
//   integer -> integer modulo 2^bits
//   anything -> bool   is not zero (NaN is true);  bool -> number  0 or 1
//   -> f16, bf16       the value as float32 (rounded to nearest), rounded to nearest even once more
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/kernel.h"

namespace ampc {

class CastLoop {
 public:
  // Both bool, an integer or a float type; otherwise !ok().
  CastLoop(DType from, DType to);
  bool ok() const { return fn_ != nullptr; }
  // Every value of `from` has the same bytes in the storage of `to`.
  bool keeps_bytes() const;
  // Storage types of equal size: the result may take the operand's memory.
  bool in_place() const { return from_size_ == to_size_; }
  // `x` and `out` may be the same array if in_place().
  void Run(const void* x, void* out, int64_t n, int threads) const;

 private:
  using Fn = void (*)(const void* x, void* out, int64_t n);
  Fn fn_ = nullptr;
  DType from_, to_;
  int64_t from_size_, to_size_;
};

}  // namespace ampc
