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

bool IsSmall(DType dtype) { return IsPacked(dtype) || IsSmallFloat(dtype); }

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

absl::StatusOr<TensorMap> ReadFeeds(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs) {
  TensorMap feeds;
  for (const std::string& source : sources) {
    const size_t equals = source.find('=');
    if (equals != std::string::npos) {
      AMPC_ASSIGN_OR_RETURN(feeds[source.substr(0, equals)], ReadNpy(FileOfFeeds(source)));
    } else if (absl::EndsWith(source, ".npy")) {
      if (inputs.size() != 1) {
        return UsageError(absl::StrCat("'", source, "' has no name, and the model has ", inputs.size(), " feeds; say which: NAME=", source,
                                       " with NAME one of ", NamesOf(inputs)));
      }
      AMPC_ASSIGN_OR_RETURN(feeds[inputs[0].name], ReadNpy(source));
    } else if (absl::EndsWith(source, ".safetensors")) {
      AMPC_ASSIGN_OR_RETURN(TensorMap tensors, ReadSafetensors(source));
      for (auto& [name, t] : tensors) feeds[name] = std::move(t);
    } else {
      AMPC_ASSIGN_OR_RETURN(TensorMap tensors, ReadNpz(source));
      for (auto& [name, t] : tensors) feeds[name] = std::move(t);
    }
  }
  AMPC_RETURN_IF_ERROR(CheckNames(feeds, inputs));
  return InTypesOf(std::move(feeds), inputs);
}

}  // namespace ampc
