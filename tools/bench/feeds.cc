#include "tools/bench/feeds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "runtime/feed_words.h"
#include "runtime/made_feeds.h"
#include "tools/cli/tensors.h"

namespace ampc {
namespace {

using DimsByName = std::map<std::string, std::vector<int64_t>>;

absl::StatusOr<std::vector<DimsByName>> ParseDims(const std::vector<std::string>& given) {
  std::vector<DimsByName> sets(1);
  std::map<std::string, size_t> last;  // set that a name was given in, plus one
  for (const std::string& text : given) {
    AMPC_ASSIGN_OR_RETURN(auto feed, ParseDimsOption(text));
    if (last[feed.first] == sets.size()) sets.push_back(sets.back());
    last[feed.first] = sets.size();
    sets.back()[feed.first] = std::move(feed.second);
  }
  return sets;
}

bool SameDims(const TensorMap& a, const TensorMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && x.second.dims() == y.second.dims(); });
}

}  // namespace

absl::StatusOr<std::vector<TensorMap>> BenchFeeds(const Session& session, const std::vector<std::string>& inputs,
                                                  const std::vector<std::string>& dims, const std::vector<int64_t>& batches) {
  std::vector<TensorMap> lines;
  if (!inputs.empty()) {
    AMPC_ASSIGN_OR_RETURN(lines.emplace_back(), ReadFeeds(inputs, session.inputs()));
    return lines;
  }
  AMPC_ASSIGN_OR_RETURN(const std::vector<DimsByName> sets, ParseDims(dims));
  for (const DimsByName& set : sets) {
    for (int64_t batch : batches) {
      absl::StatusOr<MadeFeeds> made = MakeFeeds(session.program(), {.batch = batch, .dims = set});
      if (!made.ok()) return set.empty() ? made.status() : Annotate(made.status(), "--dims");
      if (lines.empty() || !SameDims(lines.back(), made->feeds)) lines.push_back(std::move(made->feeds));
    }
  }
  return lines;
}

int64_t BatchOf(const std::vector<ValueInfo>& inputs, const TensorMap& feeds) {
  for (const ValueInfo& input : inputs) {
    const auto at = feeds.find(input.name);
    if (at != feeds.end() && !at->second.dims().empty()) return at->second.dims()[0];
  }
  return 1;
}

}  // namespace ampc
