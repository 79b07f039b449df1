// MakeFeeds: inputs for a model where nobody gives any: seeded values of the kind that the names, types, dims and readers of its feeds ask
// for.
//
//   input_ids : i64 [batch, sequence]   read by a Gather of 30522 rows   ->   ids below 30522, [1, 32]
//   attention_mask : i64 [batch, sequence]                               ->   a mask of ones, in other runs with zeros behind, [1, 32]
//   image : f32 [?, 3, 224, 224]        less 123.7                       ->   an image in 0..255
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "runtime/tensor_map.h"

namespace ampc {

struct MadeFeedOptions {
  uint64_t seed = 0;
  int run = 0;   // other values of the same kinds: images and masks that differ in range and length
  int size = 0;  // below kMadeSizes: another choice of what the model leaves open
  int64_t batch = 1;
  std::map<std::string, std::vector<int64_t>> dims = {};  // of feeds, by name; all others have what the model says
};
inline constexpr int kMadeSizes = 4;

struct MadeFeeds {
  TensorMap feeds;
  std::vector<std::string> kinds;  // "input_ids: ids below 30522, [1, 32]", one for each feed, in the model's order
};

// The same options give the same values, on every machine. Dims that a symbol names are equal; a batch that is open is `batch`. UsageError:
// `dims` that do not fit a feed, or name none; UnsupportedError: a feed of a type that no value can be made of.
absl::StatusOr<MadeFeeds> MakeFeeds(const Program& program, const MadeFeedOptions& options = {});
// Their dims alone, by the name of the feed.
absl::StatusOr<std::map<std::string, std::vector<int64_t>>> MadeDims(const Program& program, const MadeFeedOptions& options = {});

// Calls `use` with feeds of one size after the other until it takes them: a usage error says that a model's dims have to fit each other in
// a way that its signature does not say. Returns what `use` said of the feeds that it took, with `note` about them unless they were the
// first; else what it said of the first, with their dims.
absl::Status UseFeedsThatFit(const Program& program, MadeFeedOptions options,
                             const std::function<absl::Status(const TensorMap& feeds)>& use, std::string* note);

}  // namespace ampc
