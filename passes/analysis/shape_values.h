// ShapeValues: what is known of the elements of small integer values that are computed from shapes: each a number, a symbol, or unknown.
#pragma once

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "graph/program.h"

namespace ampc {

class ShapeValues {
 public:
  // The elements in order; null where nothing is known, not even their number. A negative number is an unknown or a symbol (type.h).
  const Dims* Of(const Var& var);
  // Follows one op, behind those that compute its operands: shape, cast, slice, concat, gather, squeeze, unsqueeze and identity, with
  // types as they are declared. Of ONNX and native.
  void Add(const Op& op);
  // The dims that the shape operand of a reshape, an expand or a fill gives the result; absent if it gives none.
  std::optional<Dims> ResultDims(const Op& op);

 private:
  std::optional<Dims> Compute(const Op& op);
  absl::flat_hash_map<const Var*, Dims> values_;
};

}  // namespace ampc
