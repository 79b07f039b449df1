// A derivative of kernels/common/gradient_functors.inc over broadcast operands, summed where the operand it belongs to repeats.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/simd/gradient.h"

namespace ampc {

// Which gradient is computed.
enum class GradientSide : uint8_t {
  kX,          // of the first operand of a binary op
  kY,          // of the second
  kReduction,  // of the operand of a reduction, x: y is its result and g is the gradient of that, so g repeats like y
};

class RowGradient {
 public:
  RowGradient() = default;
  // `plan`: of x and y (y the kept dimensions for kReduction). `storage`: f32 or f64.
  RowGradient(BroadcastPlan plan, GradientSide side, simd::RowGradient op, functors::Params<double> params, DType storage);

  int64_t workspace_bytes() const;
  // Sums are taken in double over blocks of fixed size (in a block of f32 in f32), so they do not depend on `threads`. An operand that the
  // derivative does not read may be any valid pointer. `out` may be x, y or g itself if it has all elements of the result.
  struct Operands {
    const void *x, *y, *g;
  };
  void Run(int threads, Operands in, void* out, void* workspace) const;

 private:
  struct Axes {  // some outer dimensions, with element strides
    std::vector<int64_t> size, x, y, g;
    int64_t count = 1;
  };
  struct At {
    int64_t x = 0, y = 0, g = 0;
  };
  template <typename T>
  struct Loop;
  static At OffsetIn(const Axes& axes, int64_t i);

  BroadcastPlan plan_;
  GradientSide side_ = GradientSide::kX;
  simd::RowGradient op_ = {};
  functors::Params<double> params_;
  DType storage_ = DType::kF32;
  simd::Fixed fixed_ = simd::Fixed::kNone;
  bool reduces_ = false, columns_ = false;  // columns_: neighbours of the result are neighbours of the operand
  Axes kept_, reduced_;                     // outer dimensions where the operand has its own elements, and where it repeats
  // A unit is one result, or up to kColumns neighbours of it; its sum is cut into chunks.
  int64_t units_per_row_ = 1, chunk_rows_ = 1, inner_blocks_ = 1, chunks_ = 1;
};

}  // namespace ampc
