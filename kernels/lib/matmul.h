// Matrix products on oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/lib/activation.h"
#include "kernels/weight_cache.h"

namespace ampc::onednn {

// out[.., m, n] = activation(scale * sum_k a[.., m, k] * b[.., k, n] + bias[n]); operands and result are dense f32.
struct MatmulSpec {
  std::vector<int64_t> a_batch, b_batch;  // leading dims, as many of one as of the other; 1 repeats
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;  // stored [.., k, m]; [.., n, k]
  int64_t b_row = 0;                      // elements from row to row of b where they are more than the row has; 0: dense
  float scale = 1;                        // not with has_bias
  bool has_bias = false;
  bool native_bf16 = false;  // operands hold bf16 values: multiply in bf16, accumulate in f32, where the CPU is faster so
  Activation activation;
  int threads = 1;
};

struct MatmulBuffers {
  const float* a = nullptr;
  const float* b = nullptr;  // not read when it was given to MakeMatmul
  const float* bias = nullptr;
  float* out = nullptr;
  void* workspace = nullptr;  // 64-byte aligned
};

// Immutable; several threads may Run it at the same time.
class Matmul {
 public:
  virtual ~Matmul() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual std::string implementation() const = 0;
  virtual absl::Status Run(const MatmulBuffers& buffers) const = 0;
};

// `b`: packed here when it is constant (and shared through `cache` unless that is null), null when it comes with every run. Every size
// is at least 1.
absl::StatusOr<std::unique_ptr<Matmul>> MakeMatmul(const MatmulSpec& spec, const HostTensor* b, WeightCache* cache);

}  // namespace ampc::onednn
