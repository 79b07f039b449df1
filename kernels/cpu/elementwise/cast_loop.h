// Conversion of an array from one declared type to another, in storage types.
//   float -> integer   toward zero; out of range the nearest end of the integer type; NaN gives 0
//   integer -> integer modulo 2^bits; to 4 and 2 bits so from floats, too, which become i8 first
//   anything -> bool   is not zero (NaN is true);  bool -> number  0 or 1
//   -> f16, bf16       the value as float32 (rounded to nearest), rounded to nearest even once more
//   -> small floats    the same; beyond the range as CastRounding says
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "graph/base/small_float.h"

namespace ampc {

// Options of casts to small floats alone: beyond the largest number that number, or infinity or NaN; how f8e8m0 rounds.
struct CastRounding {
  bool saturate = true;
  ScaleFloat::Mode mode = ScaleFloat::Mode::kUp;
};

class CastLoop {
 public:
  // Both bool, an integer or a float type; otherwise !ok().
  CastLoop(DType from, DType to, CastRounding rounding = {});
  bool ok() const { return fn_ != nullptr; }
  // Every value of `from` has the same bytes in the storage of `to`.
  bool keeps_bytes() const;
  // Storage types of equal size: the result may take the operand's memory.
  bool in_place() const { return from_size_ == to_size_; }
  // `x` and `out` may be the same array if in_place().
  void Run(const void* x, void* out, int64_t n, int threads) const;

 private:
  using Fn = void (*)(const void* x, void* out, int64_t n);
  using EncodeFn = void (*)(const float* x, void* out, int64_t n, CastRounding rounding);
  void RunTile(const char* x, char* out, int64_t n) const;

  Fn decode_ = nullptr;        // from a small float to float
  Fn fn_ = nullptr;            // between types that are computed with
  EncodeFn encode_ = nullptr;  // from float to a small float
  DType from_, to_;
  CastRounding rounding_;
  int64_t from_size_, to_size_;
};

}  // namespace ampc
