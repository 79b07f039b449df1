// The source of the feeds of a verb that runs a model: files, or values that are made up.
#pragma once

#include <cstdint>
#include <functional>
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
  std::vector<std::string> mean, deviation;  // of pictures
  std::string channels = "RGB";
};

// The files as words behind the model or as --input, --random, --seed, --dims, and how pictures become numbers.
void AddFeedOptions(const Options& options, FeedFlags* flags);

// A usage error where neither files nor --random are given, or both, or an option of one kind of feeds with another.
absl::Status CheckFeedFlags(const Options& options, const FeedFlags& flags);

// The feeds of the files, in the types of `inputs`.
absl::StatusOr<TensorMap> FeedsOfFiles(const FeedFlags& flags, const std::vector<ValueInfo>& inputs);

// Calls `use` with the feeds of a session: those of the files, or, of --random, the first of runtime/made_feeds.h that it takes; `note` is
// a sentence about these, or "".
absl::Status UseFeeds(const FeedFlags& flags, const Session& session, const std::function<absl::Status(const TensorMap& feeds)>& use,
                      std::string* note);

}  // namespace ampc
