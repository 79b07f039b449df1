#include "graph/base/host_values.h"

#include <algorithm>
#include <limits>

#include "graph/base/bfloat16.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/half.h"

namespace ampc {
namespace {

template <typename To, typename From>
std::vector<To> As(const HostTensor& tensor) {
  std::vector<To> out;
  out.reserve(tensor.num_elements());
  for (const From& value : tensor.values<From>()) out.push_back(static_cast<To>(value));
  return out;
}

}  // namespace

std::optional<std::vector<int64_t>> IntegersOf(const HostTensor& tensor) {
  const absl::Span<const uint64_t> wide = tensor.values<uint64_t>();
  if (std::any_of(wide.begin(), wide.end(), [](uint64_t v) { return v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()); }))
    return std::nullopt;
  return Select<IntegersAndBool>(
      tensor.dtype(), [&](auto tag) { return std::optional<std::vector<int64_t>>(As<int64_t, typename decltype(tag)::type>(tensor)); });
}

std::optional<std::vector<float>> FloatsOf(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF16: return As<float, Half>(tensor);
    case DType::kBF16: return As<float, BFloat16>(tensor);
    case DType::kF32: return As<float, float>(tensor);
    default: return std::nullopt;
  }
}

std::optional<double> ExactDouble(int64_t value) {
  const double number = static_cast<double>(value);
  // 2^63 is a double but no i64.
  if (number >= 0x1p63 || static_cast<int64_t>(number) != value) return std::nullopt;
  return number;
}

}  // namespace ampc
