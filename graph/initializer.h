// Initializer: the values that a parameter or a state starts with.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"

namespace ampc {

struct Initializer {
  enum class Kind { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  double a = 0;  // the constant; the lower bound; the mean
  double b = 0;  // the upper bound; the standard deviation

  static Initializer Constant(double value) { return {Kind::kConstant, value, 0}; }
  static Initializer Uniform(double low, double high) { return {Kind::kUniform, low, high}; }
  static Initializer Normal(double mean, double deviation) { return {Kind::kNormal, mean, deviation}; }
};

// The values for a float, integer or bool tensor of known dims. They depend on `seed` and `name` and nothing else, so adding
// a parameter to a network leaves the others as they were. Errors: InvalidArgument for a type or dims that cannot be filled.
absl::StatusOr<HostTensor> InitialValues(const Initializer& init, DType dtype, absl::Span<const int64_t> dims, uint64_t seed,
                                         absl::string_view name);

}  // namespace ampc
