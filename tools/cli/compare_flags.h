// The options of `ampc compare`, and what it does with them before anything is printed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/compare/compare_models.h"
#include "runtime/feeds.h"
#include "tools/cli/feed_options.h"
#include "tools/cli/options.h"

namespace ampc {

struct CompareFlags {
  std::string a, b;
  std::string params_a, params_b;
  FeedFlags feeds;
  CompareOptions options;
  std::string device = "cpu", device_b;
  int threads = 0;
};

// Declares the options; `flags` has to outlive them.
void AddCompareOptions(const Options& options, CompareFlags& flags);

// How the two models are loaded: each result rounded to its type, as on a device, and, where all values are to be seen, nothing fused.
SessionOptions SessionOfA(const CompareFlags& flags);
SessionOptions SessionOfB(const CompareFlags& flags);

// The models on the feeds that the flags name or have made up, in the types of each; `given`, unless it is null, is taken in their place.
// `note` is a sentence about feeds that were made up, or "".
absl::StatusOr<ModelComparison> CompareOnFeeds(const CompareFlags& flags, const ComparedModel& a, const ComparedModel& b,
                                               const std::vector<FeedsOfARun>* given, std::string* note);

}  // namespace ampc
