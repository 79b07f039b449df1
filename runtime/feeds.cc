#include "runtime/feeds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/convert.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npy.h"
#include "graph/formats/tensor_io/npz.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "runtime/compare/difference.h"

namespace ampc {
namespace {

absl::StatusOr<HostTensor> ToFloatType(const HostTensor& t, DType to) {
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(to, t.dims()));
  const std::vector<double> values = ToDoubles(t);
  const std::vector<float> floats(values.begin(), values.end());
  if (IsSmallFloat(to)) {
    Select<StoredTypes>(to, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!std::is_arithmetic_v<T>)
        std::transform(floats.begin(), floats.end(), out.mutable_values<T>().begin(), [](float v) { return T(v); });
    });
    return out;
  }
  switch (to) {
    case DType::kF16: F32ToF16(floats.data(), out.mutable_values<Half>().data(), floats.size()); break;
    case DType::kBF16: F32ToBF16(floats.data(), out.mutable_values<BFloat16>().data(), floats.size()); break;
    case DType::kF64: std::copy(values.begin(), values.end(), out.mutable_values<double>().begin()); break;
    default: std::copy(floats.begin(), floats.end(), out.mutable_values<float>().begin());
  }
  return out;
}

// NumPy has no types of less than 8 bits and no small floats: those come as integers of 8 bits, with their values or (floats) their codes.
absl::StatusOr<HostTensor> ToSmallType(const HostTensor& t, DType to, absl::string_view name) {
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(to, t.dims()));
  const int top = IsPacked(to) ? 1 << BitsOf(to) : 256, low = IsSignedInteger(to) ? -top / 2 : 0, high = low + top - 1;
  const std::vector<double> values = ToDoubles(t);
  auto* codes = static_cast<uint8_t*>(out.mutable_data());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < low || values[i] > high) {
      return UsageError(absl::StrCat("feed '", name, "': element ", i, " is ", values[i], ", ", Name(to), " needs ", low, " to ", high));
    }
    codes[i] = static_cast<uint8_t>(static_cast<int>(values[i]));
  }
  return out;
}

std::string NamesOf(const std::vector<ValueInfo>& inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string* out, const ValueInfo& input) { absl::StrAppend(out, "'", input.name, "'"); });
}

// If one feed is missing and one unknown name is offered, that name is taken to mean the feed.
absl::Status CheckNames(const TensorMap& feeds, const std::vector<ValueInfo>& inputs) {
  for (const ValueInfo& input : inputs) {
    if (feeds.contains(input.name)) continue;
    for (const auto& [name, t] : feeds) {
      const auto same = [&name = name](const ValueInfo& other) { return other.name == name; };
      if (std::any_of(inputs.begin(), inputs.end(), same)) continue;
      return UsageError(absl::StrCat("feed '", input.name, "' is missing; the files have '", name,
                                     "', which is no feed of the model; its feeds are ", NamesOf(inputs)));
    }
  }
  return absl::OkStatus();
}

// A feed that both have; "" for none.
std::string InBoth(const TensorMap& a, const TensorMap& b, const std::vector<ValueInfo>& inputs) {
  const auto both = [&](const ValueInfo& input) { return a.contains(input.name) && b.contains(input.name); };
  const auto at = std::find_if(inputs.begin(), inputs.end(), both);
  return at == inputs.end() ? "" : at->name;
}

bool IsSmall(DType dtype) { return IsPacked(dtype) || IsSmallFloat(dtype); }

// The input that a source without arrays of its own names is for: NAME=file.npy, NAME=photo.jpg, or the only one.
absl::StatusOr<const ValueInfo*> InputOf(const std::string& source, const std::vector<ValueInfo>& inputs) {
  const size_t equals = source.find('=');
  if (equals == std::string::npos && inputs.size() == 1) return &inputs[0];
  if (equals == std::string::npos) {
    return UsageError(absl::StrCat("'", source, "' has no name, and the model has ", inputs.size(), " feeds; say which: NAME=", source,
                                   " with NAME one of ", NamesOf(inputs)));
  }
  const std::string name = source.substr(0, equals);
  std::vector<std::string> names;
  for (const ValueInfo& input : inputs) names.push_back(input.name);
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return UsageError(absl::StrCat("the model has no feed '", name, "'", Suggest(name, names)));
  return &inputs[at - names.begin()];
}

absl::StatusOr<TensorMap> ReadSource(const std::string& source, const std::vector<ValueInfo>& inputs, const FeedOptions& options) {
  const std::string file = FileOfFeeds(source);
  const bool picture = IsPicture(file);
  if (!picture && file == source && absl::EndsWith(file, ".safetensors")) return ReadSafetensors(file);
  if (!picture && file == source && !absl::EndsWith(file, ".npy")) return ReadNpz(file);
  TensorMap feeds;
  AMPC_ASSIGN_OR_RETURN(const ValueInfo* input, InputOf(source, inputs));
  if (picture) {
    const auto dims = options.dims.find(input->name);
    AMPC_ASSIGN_OR_RETURN(feeds[input->name],
                          ReadPicture(file, *input, dims == options.dims.end() ? std::vector<int64_t>() : dims->second, options.pictures));
  } else {
    AMPC_ASSIGN_OR_RETURN(feeds[input->name], ReadNpy(file));
  }
  return feeds;
}

}  // namespace

std::string FileOfFeeds(const std::string& source) {
  const size_t equals = source.find('=');
  return equals == std::string::npos ? source : source.substr(equals + 1);
}

absl::StatusOr<TensorMap> InTypesOf(TensorMap feeds, const std::vector<ValueInfo>& inputs) {
  for (const ValueInfo& input : inputs) {
    auto it = feeds.find(input.name);
    if (it == feeds.end() || it->second.dtype() == input.type.dtype) continue;
    if (IsSmall(input.type.dtype) && (it->second.dtype() == DType::kU8 || it->second.dtype() == DType::kI8)) {
      AMPC_ASSIGN_OR_RETURN(it->second, ToSmallType(it->second, input.type.dtype, input.name));
      continue;
    }
    if (!IsFloat(it->second.dtype()) || !(IsFloat(input.type.dtype) || IsSmallFloat(input.type.dtype))) continue;
    AMPC_ASSIGN_OR_RETURN(it->second, ToFloatType(it->second, input.type.dtype));
  }
  return feeds;
}

absl::Status ForEachRun(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs, const FeedOptions& options,
                        const std::function<absl::Status(FeedsOfARun run)>& use) {
  FeedsOfARun run;
  const auto end_run = [&]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckNames(run.feeds, inputs));
    AMPC_ASSIGN_OR_RETURN(run.feeds, InTypesOf(std::move(run.feeds), inputs));
    return use(std::exchange(run, {}));
  };
  for (const std::string& source : sources) {
    AMPC_ASSIGN_OR_RETURN(TensorMap part, ReadSource(source, inputs, options));
    if (!InBoth(run.feeds, part, inputs).empty()) AMPC_RETURN_IF_ERROR(end_run());
    absl::StrAppend(&run.source, run.source.empty() ? "" : ", ", source);
    run.feeds.merge(part);
  }
  return sources.empty() ? absl::OkStatus() : end_run();
}

absl::StatusOr<std::vector<FeedsOfARun>> ReadRuns(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs,
                                                  const FeedOptions& options) {
  std::vector<FeedsOfARun> runs;
  AMPC_RETURN_IF_ERROR(ForEachRun(sources, inputs, options, [&runs](FeedsOfARun run) {
    runs.push_back(std::move(run));
    return absl::OkStatus();
  }));
  return runs;
}

absl::StatusOr<TensorMap> ReadFeeds(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs,
                                    const FeedOptions& options) {
  AMPC_ASSIGN_OR_RETURN(std::vector<FeedsOfARun> runs, ReadRuns(sources, inputs, options));
  if (runs.empty()) return TensorMap();
  if (runs.size() == 1) return std::move(runs[0].feeds);
  return UsageError(absl::StrCat("'", runs[0].source, "' and '", runs[1].source, "' both have feed '",
                                 InBoth(runs[0].feeds, runs[1].feeds, inputs), "'; these are the feeds of ", runs.size(),
                                 " runs, those of one are needed"));
}

}  // namespace ampc
