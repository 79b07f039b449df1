// Feeds of a run from files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/picture.h"
#include "runtime/session.h"

namespace ampc {

struct FeedOptions {
  std::map<std::string, std::vector<int64_t>> dims;  // of pictures, by feed, where the model leaves them open
  PictureOptions pictures;
};

struct FeedsOfARun {
  std::string source;  // the files, for messages
  TensorMap feeds;
};

// Calls `use` with the feeds of one run after the other. Each source is a .npz or .safetensors file, NAME=file.npy, NAME=photo.jpg, or one
// of these two without NAME for a model with one feed. Sources add up; one with a feed that is there already begins another run. If a feed
// is missing, a usage error names it and the arrays that no feed is named like. Floats get the model's float type.
absl::Status ForEachRun(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs, const FeedOptions& options,
                        const std::function<absl::Status(FeedsOfARun run)>& use);
// All of them.
absl::StatusOr<std::vector<FeedsOfARun>> ReadRuns(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs,
                                                  const FeedOptions& options = {});
// Of one run: a usage error where the sources have more.
absl::StatusOr<TensorMap> ReadFeeds(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs,
                                    const FeedOptions& options = {});
// A float feed is converted to the model's float type where they differ (never an integer: that is a usage error of Session::Run).
absl::StatusOr<TensorMap> InTypesOf(TensorMap feeds, const std::vector<ValueInfo>& inputs);

// The file of a source.
std::string FileOfFeeds(const std::string& source);

}  // namespace ampc
