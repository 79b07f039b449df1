// Feeds of a model in a file: given ones, or made ones (runtime/made_feeds.h) with given dims.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"

namespace ampc {

// One for each line that a model is measured with: of `inputs` (files) if there are any, else made for every combination of dims and
// batch. `dims` are texts NAME=1,3,48,320; a name that comes again begins another set, which has the dims of the set before for other
// names. A line with the dims of the one before is left out.
absl::StatusOr<std::vector<TensorMap>> BenchFeeds(const Session& session, const std::vector<std::string>& inputs,
                                                  const std::vector<std::string>& dims, const std::vector<int64_t>& batches);

// The first dim of the model's first feed that has one; 1 where none has.
int64_t BatchOf(const std::vector<ValueInfo>& inputs, const TensorMap& feeds);

}  // namespace ampc
