// The source of the feeds of a verb that runs a model: files, or values that are made up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/feed_words.h"
#include "runtime/feeds.h"
#include "runtime/session.h"
#include "tools/cli/options.h"

namespace ampc {

struct FeedFlags {
  std::vector<std::string> inputs;
  bool random = false;
  uint64_t seed = 0;
  FeedWords words;
};

// The files as words behind the model or as --input, --random, --seed, --dims, and how pictures become numbers.
void AddFeedOptions(const Options& options, FeedFlags* flags);

// A usage error where neither files nor --random are given, or both, or an option of one kind of feeds with another.
absl::Status CheckFeedFlags(const Options& options, const FeedFlags& flags);
// A usage error for an option of pictures where none of the `files` is one; --dims is also for feeds that are made up.
absl::Status CheckPictureFlags(const Options& options, const std::vector<std::string>& files, bool made);

// The feeds of the files, in the types of `inputs`.
absl::StatusOr<std::vector<FeedsOfARun>> RunsOfFiles(const FeedFlags& flags, const std::vector<ValueInfo>& inputs);

// Calls `use` with the feeds of a session: those of the files, a usage error where they are of several runs, or, of --random, the first of
// runtime/made_feeds.h that it takes; `note` is a sentence about these, or "".
absl::Status UseFeeds(const FeedFlags& flags, const Session& session, const std::function<absl::Status(const TensorMap& feeds)>& use,
                      std::string* note);

}  // namespace ampc
