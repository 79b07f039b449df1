#include "tools/cli/tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/convert.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npy.h"
#include "graph/formats/tensor_io/npz.h"
#include "graph/formats/tensor_io/safetensors.h"

namespace ampc {
namespace {

template <typename T>
void AppendDoubles(const HostTensor& t, std::vector<double>& out) {
  for (const T& v : t.values<T>()) out.push_back(static_cast<double>(static_cast<std::conditional_t<std::is_arithmetic_v<T>, T, float>>(v)));
}

absl::StatusOr<HostTensor> ToFloatType(const HostTensor& t, DType to) {
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(to, t.dims()));
  const std::vector<double> values = ToDoubles(t);
  const std::vector<float> floats(values.begin(), values.end());
  if (IsSmallFloat(to)) {
    Select<StoredTypes>(to, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!std::is_arithmetic_v<T>) std::transform(floats.begin(), floats.end(), out.mutable_values<T>().begin(), [](float v) { return T(v); });
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

bool IsSmall(DType dtype) { return IsPacked(dtype) || IsSmallFloat(dtype); }

// Spacing of the type's values at |x|.
double UlpAt(double x, DType type) {
  const int mantissa = type == DType::kF16 ? 10 : type == DType::kBF16 ? 7 : type == DType::kF64 ? 52 : 23;
  const int min_exponent = type == DType::kF16 ? -14 : type == DType::kF64 ? -1022 : -126;
  const int exponent = x == 0 ? min_exponent : std::max(std::ilogb(x), min_exponent);
  return std::ldexp(1.0, exponent - mantissa);
}

}  // namespace

std::vector<double> ToDoubles(const HostTensor& t) {
  std::vector<double> out;
  out.reserve(static_cast<size_t>(t.num_elements()));
  Select<AllTypes::With<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, ScaleFloat, Float4E2M1>>(
      t.dtype(), [&](auto tag) { AppendDoubles<typename decltype(tag)::type>(t, out); });
  if (!IsPacked(t.dtype()) || IsSmallFloat(t.dtype())) return out;
  for (const std::byte b : t.bytes()) out.push_back(IsSignedInteger(t.dtype()) ? static_cast<int8_t>(b) : static_cast<uint8_t>(b));
  return out;
}

std::string FileOfFeeds(const std::string& source) {
  const size_t equals = source.find('=');
  return equals == std::string::npos ? source : source.substr(equals + 1);
}

absl::StatusOr<TensorMap> ReadFeeds(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs) {
  TensorMap feeds;
  for (const std::string& source : sources) {
    const size_t equals = source.find('=');
    if (equals != std::string::npos) {
      AMPC_ASSIGN_OR_RETURN(feeds[source.substr(0, equals)], ReadNpy(FileOfFeeds(source)));
    } else if (absl::EndsWith(source, ".safetensors")) {
      AMPC_ASSIGN_OR_RETURN(TensorMap tensors, ReadSafetensors(source));
      for (auto& [name, t] : tensors) feeds[name] = std::move(t);
    } else {
      AMPC_ASSIGN_OR_RETURN(TensorMap tensors, ReadNpz(source));
      for (auto& [name, t] : tensors) feeds[name] = std::move(t);
    }
  }
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

absl::Status CheckTensorFileName(const std::string& path) {
  if (absl::EndsWith(path, ".npz") || absl::EndsWith(path, ".safetensors")) return absl::OkStatus();
  return UsageError(absl::StrCat("output '", path, "' has an unknown ending, .npz or .safetensors is needed"));
}

absl::Status AddTensors(const std::string& path, const TensorMap& tensors, AtomicFileSet* files) {
  AMPC_RETURN_IF_ERROR(CheckTensorFileName(path));
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, absl::EndsWith(path, ".npz") ? MakeNpz(path, tensors) : MakeSafetensors(path, tensors));
  return files->Add(std::move(file));
}

TensorStats StatsOf(const HostTensor& tensor) {
  TensorStats stats;
  double sum = 0;
  int64_t finite = 0;
  for (double v : ToDoubles(tensor)) {
    if (!std::isfinite(v)) {
      ++stats.non_finite;
      continue;
    }
    stats.min = finite == 0 ? v : std::min(stats.min, v);
    stats.max = finite == 0 ? v : std::max(stats.max, v);
    sum += v;
    ++finite;
  }
  if (finite > 0) stats.mean = sum / static_cast<double>(finite);
  return stats;
}

Difference Compare(const std::vector<double>& a, const std::vector<double>& b, DType narrow) {
  Difference d;
  d.elements = static_cast<int64_t>(a.size());
  double largest = 0, dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same_non_finite = (std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i];
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      if (!same_non_finite) ++d.mismatched_non_finite;
      continue;
    }
    const double diff = std::abs(a[i] - b[i]);
    d.max_abs = std::max(d.max_abs, diff);
    d.max_ulp = std::max(d.max_ulp, diff / UlpAt(std::max(std::abs(a[i]), std::abs(b[i])), narrow));
    largest = std::max(largest, std::abs(a[i]));
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  d.max_rel = largest > 0 ? d.max_abs / largest : (d.max_abs > 0 ? std::numeric_limits<double>::infinity() : 0);
  d.cosine = aa > 0 && bb > 0 ? dot / std::sqrt(aa * bb) : (aa == bb ? 1 : 0);
  return d;
}

}  // namespace ampc
