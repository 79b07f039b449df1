// Channels-last copies of 4-D float tensors, for tests.
#pragma once

#include <cstdint>

#include "tests/kernels/op_run.h"

namespace ampc::testing {

// The tensor with its dimensions in the order `axes`: result dim i is operand dim axes[i].
inline Tensor Permuted(const Tensor& t, const std::vector<int>& axes) {
  const Shape in(t.dims().begin(), t.dims().end());
  Shape out(4);
  for (int i = 0; i < 4; ++i) out[i] = in[axes[i]];
  Tensor r{t.dtype, *HostTensor::Create(t.stored.dtype(), out)};
  const auto from = t.stored.values<float>();
  const auto to = r.stored.mutable_values<float>();
  int64_t strides[4] = {in[1] * in[2] * in[3], in[2] * in[3], in[3], 1};
  int64_t at = 0;
  for (int64_t a = 0; a < out[0]; ++a)
    for (int64_t b = 0; b < out[1]; ++b)
      for (int64_t c = 0; c < out[2]; ++c)
        for (int64_t d = 0; d < out[3]; ++d)
          to[at++] = from[a * strides[axes[0]] + b * strides[axes[1]] + c * strides[axes[2]] + d * strides[axes[3]]];
  return r;
}
inline Tensor ToNhwc(const Tensor& nchw) { return Permuted(nchw, {0, 2, 3, 1}); }
inline Tensor ToNchw(const Tensor& nhwc) { return Permuted(nhwc, {0, 3, 1, 2}); }

}  // namespace ampc::testing
