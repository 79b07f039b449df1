// The matrix product that a kernel computes, whatever library does it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/dtype.h"
#include "kernels/common/activation.h"

namespace ampc {

class KernelChoices;  // kernels/kernel_choices.h

namespace onednn {

// out[.., m, n] = activation(scale * sum_k a[.., m, k] * b[.., k, n] + bias[n]); operands and result are dense, in f32 or as stored.
struct MatmulSpec {
  std::vector<int64_t> a_batch, b_batch;  // leading dims, as many of one as of the other; 1 repeats
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;  // stored [.., k, m]; [.., n, k]
  int64_t b_row = 0;                      // elements from row to row of b where they are more than the row has; 0: dense
  float scale = 1;                        // not with has_bias
  bool has_bias = false;
  bool native_bf16 = false;  // operands hold bf16 values: multiply in bf16, accumulate in f32, where the CPU is faster so
  DType a_storage = DType::kF32, b_storage = DType::kF32, out_storage = DType::kF32;
  Activation activation;
  int threads = 1;
  std::string implementation;        // that computes it on the CPU, as Matmul::implementation names it; "": chosen by the shapes
  KernelChoices* choices = nullptr;  // that know the implementation, or measure it; null: nobody measures
};

// The elements that these dims span; 1 for none.
int64_t Product(absl::Span<const int64_t> dims);

// The same product with as few leading dims as possible: those over which b repeats become rows of a; neighbours that repeat alike are
// joined.
MatmulSpec Simplified(MatmulSpec s);

}  // namespace onednn
}  // namespace ampc
