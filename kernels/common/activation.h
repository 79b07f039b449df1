// The activation that a fused kernel applies to its result: numbers only, for host and device code.
#pragma once

#include <cstdint>

namespace ampc {

enum class ActivationKind : uint8_t {
  kNone,
  kRelu,
  kRelu6,
  kLeakyRelu,
  kSigmoid,
  kTanh,
  kGelu,
  kGeluTanh,
  kSwish,
  kHardSwish,
  kHardSigmoid
};

struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  float alpha =
      0;  // relu6: threshold; leaky_relu: slope below 0; swish: beta; hard_sigmoid: slope; hard_swish: threshold, scale 6, offset 3
  float beta = 0;              // hard_sigmoid: offset
  float scale = 1, shift = 0;  // scale * activation(x) + shift
};

}  // namespace ampc
