// The cases of gradient_test: small programs whose gradients are compared with difference quotients. See README.md for the format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"

namespace ampc::testing {

// How the values of one feed are chosen.
struct FeedValues {
  double low = -1, high = 1;   // floats: [low, high]; integers: [low, high)
  bool ranged = false;         // the case says so
  bool distinct = false;       // no two closer than they must be
  std::vector<double> avoid;   // kinks: no value lies within reach of a step
  std::vector<double> values;  // given one by one, repeated to the end
};

struct GradientCase {
  std::string name;  // of the test
  int line = 0;      // of the title, counted from 1
  std::string program;
  std::map<std::string, FeedValues> feeds;
  std::vector<std::string> fixed;    // float feeds that are not differentiated
  std::string tolerance = "smooth";  // a class of GradientToleranceFor
  double step = 1.0 / 32;
};

// One entry for each title and each of its `with` lines. Errors name the line.
absl::StatusOr<std::vector<GradientCase>> ParseGradientCases(absl::string_view text);

// A program as it stands in a case, with the types of its values.
absl::StatusOr<Program> ParseTyped(const std::string& text);

// Values for a feed of a static type, the same for the same case. Floats lie on a grid of 1/1024.
absl::StatusOr<HostTensor> MakeFeed(const GradientCase& c, const Var& feed);

}  // namespace ampc::testing
