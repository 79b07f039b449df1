// Launchers of layer_norm and its gradient; the formulas are those of kernels/cpu/layer_norm.cc and kernels/cpu/gradient/layer_norm.cc. 0
// or a code for Device::LaunchStatus. Sums are taken in double over packs of float32; those over rows in an order that the shape decides.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/any.h"
#include "kernels/cuda/reduce/reduce_shape.h"

namespace ampc::cuda {

struct LayerNormParams {
  int64_t rows = 1, size = 1;
  double epsilon = 1e-5;
  DType dtype = DType::kF32;  // of x, y, g and dx: f32, f16 or bf16
  const void* x = nullptr;
  AnyInput scale = {}, bias = {};      // data null: ones, zeros
  void* y = nullptr;                   // may be x
  AnyOutput mean = {}, variance = {};  // data null: not wanted
};
int LaunchLayerNorm(void* stream, const LayerNormParams& p);

struct LayerNormGradientParams {
  int64_t rows = 1, size = 1;
  double epsilon = 1e-5;
  DType dtype = DType::kF32;
  const void *x = nullptr, *g = nullptr;
  AnyInput scale = {}, mean = {}, variance = {};  // data null: ones; computed from x
  void* dx = nullptr;                             // null: not wanted. Not g
  AnyOutput dscale = {}, dbias = {};
  ReduceShape columns = {};   // over the rows
  void* workspace = nullptr;  // LayerNormGradientBytes
};
// Mean and inverse deviation of each row, and partial sums over the rows.
inline int64_t LayerNormGradientBytes(int64_t rows, const ReduceShape& columns) { return (rows * 8 + 15) / 16 * 16 + columns.parts() * 16; }
int LaunchLayerNormGradient(void* stream, const LayerNormGradientParams& p);

}  // namespace ampc::cuda
