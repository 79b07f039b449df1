// The effect of the AMP class of an op's record on the op.
#pragma once

#include "absl/types/span.h"
#include "graph/op.h"
#include "graph/op_record.h"
#include "passes/amp/decide/decision.h"

namespace ampc {

// Would amp-decide ever make it low?
inline bool MayBecomeLow(const Op& op) {
  const AmpClass amp = AmpClassOf(op);
  return !op.def().opaque && !IsCast(op) && amp != AmpClass::kNever && amp != AmpClass::kDeny;
}

inline bool HasF32(absl::Span<Var* const> vars) {
  for (const Var* var : vars) {
    if (var->type.dtype == DType::kF32) return true;
  }
  return false;
}

}  // namespace ampc
