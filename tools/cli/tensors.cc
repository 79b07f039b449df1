#include "tools/cli/tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/convert.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npy.h"
#include "graph/formats/tensor_io/npz.h"
#include "graph/formats/tensor_io/safetensors.h"

namespace ampc {
namespace {

template <typename T>
void AppendDoubles(const HostTensor& t, std::vector<double>& out) {
  for (const T& v : t.values<T>()) out.push_back(static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>>(v)));
}

absl::StatusOr<HostTensor> ToFloatType(const HostTensor& t, DType to) {
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(to, t.dims()));
  const std::vector<double> values = ToDoubles(t);
  const std::vector<float> floats(values.begin(), values.end());
  switch (to) {
    case DType::kF16: F32ToF16(floats.data(), out.mutable_values<Half>().data(), floats.size()); break;
    case DType::kBF16: F32ToBF16(floats.data(), out.mutable_values<BFloat16>().data(), floats.size()); break;
    case DType::kF64: std::copy(values.begin(), values.end(), out.mutable_values<double>().begin()); break;
    default: std::copy(floats.begin(), floats.end(), out.mutable_values<float>().begin());
  }
  return out;
}

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
  switch (t.dtype()) {
    case DType::kBool: AppendDoubles<bool>(t, out); break;
    case DType::kU8: AppendDoubles<uint8_t>(t, out); break;
    case DType::kI8: AppendDoubles<int8_t>(t, out); break;
    case DType::kI16: AppendDoubles<int16_t>(t, out); break;
    case DType::kI32: AppendDoubles<int32_t>(t, out); break;
    case DType::kI64: AppendDoubles<int64_t>(t, out); break;
    case DType::kF16: AppendDoubles<Half>(t, out); break;
    case DType::kBF16: AppendDoubles<BFloat16>(t, out); break;
    case DType::kF32: AppendDoubles<float>(t, out); break;
    case DType::kF64: AppendDoubles<double>(t, out); break;
    default: break;
  }
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
    if (!IsFloat(it->second.dtype()) || !IsFloat(input.type.dtype)) continue;
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
