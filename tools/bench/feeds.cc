#include "tools/bench/feeds.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "kernels/storage.h"
#include "tools/cli/dims_option.h"
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

// Floats in [-1, 1), the same each time; zeros of other types, which are right for indexes and masks.
absl::StatusOr<HostTensor> SomeValues(DType dtype, const std::vector<int64_t>& dims) {
  if (!IsFloat(dtype) || dtype == DType::kF64) return HostTensor::Create(dtype, dims);
  AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::Create(DType::kF32, dims));
  std::minstd_rand random(1);
  for (float& v : t.mutable_values<float>()) v = static_cast<float>(random() % 4096) / 2048.0f - 1;
  return FromStorage(t, dtype);
}

absl::StatusOr<TensorMap> RandomFeeds(const std::vector<ValueInfo>& inputs, const DimsByName& given, int64_t batch) {
  TensorMap feeds;
  for (const ValueInfo& input : inputs) {
    std::vector<int64_t> dims(input.type.dims.begin(), input.type.dims.end());
    if (const auto at = given.find(input.name); at != given.end()) dims = at->second;
    if (!dims.empty() && dims[0] < 0) dims[0] = batch;
    if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; })) {
      return UsageError(absl::StrCat("feed '", input.name, "' is ", ToString(input.type), ", needed its dims: --dims ", input.name, "=",
                                     absl::StrJoin(dims, ","), " with numbers for all, or --input"));
    }
    AMPC_ASSIGN_OR_RETURN(feeds[input.name], SomeValues(input.type.dtype, dims));
  }
  return feeds;
}

bool SameDims(const TensorMap& a, const TensorMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && x.second.dims() == y.second.dims(); });
}

absl::Status CheckNames(const std::vector<ValueInfo>& inputs, const std::vector<DimsByName>& sets) {
  for (const auto& [name, dims] : sets.back()) {
    const auto same = [&name = name](const ValueInfo& input) { return input.name == name; };
    if (std::any_of(inputs.begin(), inputs.end(), same)) continue;
    const auto print = [](std::string* out, const ValueInfo& input) { absl::StrAppend(out, "'", input.name, "'"); };
    return UsageError(absl::StrCat("--dims: found feed '", name, "', needed one of ", absl::StrJoin(inputs, ", ", print)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TensorMap>> BenchFeeds(const std::vector<ValueInfo>& feeds, const std::vector<std::string>& inputs,
                                                  const std::vector<std::string>& dims, const std::vector<int64_t>& batches) {
  std::vector<TensorMap> lines;
  if (!inputs.empty()) {
    AMPC_ASSIGN_OR_RETURN(lines.emplace_back(), ReadFeeds(inputs, feeds));
    return lines;
  }
  AMPC_ASSIGN_OR_RETURN(const std::vector<DimsByName> sets, ParseDims(dims));
  AMPC_RETURN_IF_ERROR(CheckNames(feeds, sets));
  for (const DimsByName& set : sets) {
    for (int64_t batch : batches) {
      AMPC_ASSIGN_OR_RETURN(TensorMap line, RandomFeeds(feeds, set, batch));
      if (lines.empty() || !SameDims(lines.back(), line)) lines.push_back(std::move(line));
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
