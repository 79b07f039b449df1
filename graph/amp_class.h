// AmpClass: the column of an op's record that decides its precision.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace ampc {

// How an op behaves under AMP; the record's `amp_reason` says why.
enum class AmpClass : uint8_t {
  kAllow,   // pays off in low precision: convolution, matmul
  kInfer,   // safe when its inputs are low already: activations, sums of two
  kClear,   // does not compute: moves, selects, reshapes; follows its neighbours
  kDeny,    // overflows or loses too much: exponentials, long sums, losses
  kWidest,  // its float operands must agree; the widest wins
  kNever,   // not a float computation, or not ours to touch: control flow, shape arithmetic, opaque
};
absl::string_view Name(AmpClass c);  // "allow", "infer", ...

}  // namespace ampc
