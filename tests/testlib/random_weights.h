// Random tensors, and programs from text with random weights. The same seed gives the same values.
#pragma once

#include <random>

#include "absl/strings/string_view.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"

namespace ampc::testing {

// f32 values, uniform in [low, high).
HostTensor RandomTensor(std::mt19937& random, const Dims& dims, float low, float high);

// The bare program `text`; every f32 parameter has values in [-1, 1), those whose name starts with v in [0.5, 1). Fails the test where the
// text does not parse.
Program WithRandomWeights(absl::string_view text, std::mt19937& random);

}  // namespace ampc::testing
