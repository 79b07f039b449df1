// Matrix products on oneDNN.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/lib/matmul_spec.h"
#include "kernels/weight_cache.h"

namespace ampc::onednn {

struct MatmulBuffers {
  const void* a = nullptr;
  const void* b = nullptr;  // not read when it was given to MakeMatmul
  const float* bias = nullptr;
  void* out = nullptr;
  void* workspace = nullptr;             // 64-byte aligned
  std::atomic<bool>* met_nan = nullptr;  // set where the library reads NaN; null: nobody asks
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
