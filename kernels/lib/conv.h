// Convolution and transposed convolution on oneDNN.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "kernels/lib/activation.h"
#include "kernels/tensor_desc.h"
#include "kernels/weight_cache.h"

namespace ampc {

class KernelChoices;  // kernels/kernel_choices.h

namespace onednn {

struct ConvSpec {
  // For a transposed convolution in and out are those of its own operand and result.
  int64_t batch = 0, in_c = 0, out_c = 0, groups = 1;
  struct Axis {
    int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  };
  absl::InlinedVector<Axis, 3> axes;                                            // two or three spatial dimensions, outermost first
  Layout in = Layout::kPlain, out = Layout::kPlain, residual = Layout::kPlain;  // of any rank here
  bool transposed = false;
  bool has_bias = false;
  bool has_residual = false;  // added before the activation; not with `transposed`
  bool native_bf16 = false;   // the input holds bf16 values: round the filter to bf16 too and accumulate in f32, where the CPU is faster so
  DType in_storage = DType::kF32, out_storage = DType::kF32, residual_storage = DType::kF32;
  Activation activation;
  int threads = 1;
  std::string implementation;        // that computes it, as Conv::implementation names it; "": chosen by the shapes
  KernelChoices* choices = nullptr;  // that know the implementation, or measure it; null: nobody measures

  int64_t in_positions() const;
  int64_t out_positions() const;
  int64_t window() const;  // positions of the filter
};

struct ConvBuffers {
  const void* in = nullptr;
  const float* filter = nullptr;  // not read when it was given to MakeConv
  const float* bias = nullptr;
  const void* residual = nullptr;
  void* out = nullptr;
  void* workspace = nullptr;             // 64-byte aligned
  std::atomic<bool>* met_nan = nullptr;  // set where the library reads NaN; null: nobody asks
};

// Immutable; several threads may Run it at the same time.
class Conv {
 public:
  virtual ~Conv() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual std::string implementation() const = 0;
  // ConvBuffers::residual may be ConvBuffers::out, which then is not copied.
  virtual bool may_add_in_place() const = 0;
  virtual absl::Status Run(const ConvBuffers& buffers) const = 0;
};

// `filter` is row-major [out_c, in_c / groups, window] ([in_c, out_c / groups, window] when transposed): packed here when it is
// constant (and shared through `cache` unless that is null), null when it comes with every run. Every size is at least 1. Unimplemented
// when oneDNN has no implementation.
absl::StatusOr<std::unique_ptr<Conv>> MakeConv(const ConvSpec& spec, const HostTensor* filter, WeightCache* cache);

}  // namespace onednn
}  // namespace ampc
