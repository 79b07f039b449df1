// The feeds of a verb that runs a model: files, or values that are made up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/cli/options.h"

namespace ampc {

struct FeedFlags {
  std::vector<std::string> inputs;
  bool random = false;
  uint64_t seed = 0;
  std::vector<std::string> dims;
};

// The files as words behind the model or as --input, and --random, --seed, --dims.
void AddFeedOptions(const Options& options, FeedFlags* flags);

// A usage error where neither files nor --random are given, or both, or --seed and --dims without --random.
absl::Status CheckFeedFlags(const Options& options, const FeedFlags& flags);

// The feeds of a session. Those of --random are as runtime/made_feeds.h makes them.
absl::StatusOr<TensorMap> FeedsOf(const FeedFlags& flags, const Session& session);
// The error of a run whose feeds do not fit; with --random also which dims were made up.
absl::Status WithMadeDims(const absl::Status& status, const FeedFlags& flags, const TensorMap& feeds);

}  // namespace ampc
