// ConvLibrary: convolutions and their gradients in the terms of cuDNN's graph API, which computes them; the emulated device does too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"

namespace ampc {

class Stream;

enum class ConvKind : uint8_t { kForward, kInputGradient, kFilterGradient };
// All of NaN are NaN.
enum class ConvActivation : uint8_t { kNone, kRelu, kClip, kSwish };

// Dims in the order [n, c, spatial...]; filters [output channels, input channels / groups, spatial...]. Strides of memory say the
// layout: row-major or channels last. y is the result of the forward convolution also where its gradient is read.
struct ConvDesc {
  ConvKind kind = ConvKind::kForward;
  DType type = DType::kF32;  // of x, w and y: f32, f16, bf16; accumulated in f32
  bool f32_result = false;   // what is written is f32, whatever the type
  bool tf32 = false;
  std::vector<int64_t> x, w, y;
  bool channels_last = false;  // x and y
  bool filter_channels_last = false;
  std::vector<int64_t> pads_begin, pads_end, strides, dilations;  // per spatial dim
  int64_t groups = 1;
  // Forward only, in this order: + bias[c], + residual (as y), activation.
  bool bias = false;
  DType bias_type = DType::kF32;  // `type` or f32
  bool residual = false;
  ConvActivation activation = ConvActivation::kNone;
  float lower = 0, upper = 0;  // kClip
  bool operator==(const ConvDesc&) const = default;
};

struct ConvArgs {
  void* x = nullptr;  // written by kInputGradient
  void* w = nullptr;  // written by kFilterGradient
  void* y = nullptr;  // written by kForward
  const void* bias = nullptr;
  const void* residual = nullptr;
  void* workspace = nullptr;
};

// Immutable and thread-safe.
class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual absl::Status Run(Stream& stream, const ConvArgs& args) const = 0;
  virtual std::string implementation() const = 0;  // "cudnn:<engine>"
};

// Thread-safe.
class ConvLibrary {
 public:
  virtual ~ConvLibrary() = default;
  // The first engine by the library's heuristics that fits the workspace, found once per desc. Unimplemented when there is none.
  virtual absl::StatusOr<std::shared_ptr<const ConvPlan>> Plan(const ConvDesc& desc, int64_t workspace_limit) = 0;
};

}  // namespace ampc
