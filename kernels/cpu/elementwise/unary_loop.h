// A unary functor over a whole tensor of any numeric storage type, in parallel.
#pragma once

#include <cstdint>

#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/elementwise.h"

namespace ampc {

class UnaryLoop {
 public:
  UnaryLoop() = default;
  // Integer types have Relu, Abs, Sign, Square, Trunc, Clip, PowScalar, ScaleThenBias and BiasThenScale; check with Supports first.
  UnaryLoop(simd::UnaryOp op, DType dtype, int64_t elements);
  static bool Supports(simd::UnaryOp op, DType dtype);
  // Floats that lie in these storages; float32 otherwise.
  UnaryLoop& Stored(DType x, DType out);

  // An integer loop converts the parameters toward zero first, or takes them as they are in `integers`; what its type
  // has not is its nearest end. Those of u64 are given as bits.
  void Run(const functors::Params<double>& params, const KernelArgs& args) const;
  void Run(const functors::Params<double>& params, const functors::Params<int64_t>& integers, const KernelArgs& args) const;
  // The traits of a kernel that is this loop.
  KernelTraits traits() const;

 private:
  using PlainFn = void (*)(const void* x, void* out, int64_t n, const functors::Params<double>& params,
                           const functors::Params<int64_t>& integers);
  static PlainFn FindPlain(simd::UnaryOp op, DType storage);

  simd::UnaryFn vector_ = nullptr;  // f32
  PlainFn plain_ = nullptr;         // f64 and integers
  void RunFloats(const functors::Params<float>& params, const void* x, void* out, int64_t first, int64_t last) const;

  DType dtype_ = DType::kInvalid;
  DType x_ = DType::kF32, out_ = DType::kF32;  // storages of floats
  int64_t elements_ = 0;
  int64_t size_ = 0;   // bytes of an element
  int64_t grain_ = 0;  // elements that are worth a thread
};

}  // namespace ampc
