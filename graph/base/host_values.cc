#include "graph/base/host_values.h"

#include "graph/base/bfloat16.h"
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
  switch (tensor.dtype()) {
    case DType::kBool: return As<int64_t, bool>(tensor);
    case DType::kU8: return As<int64_t, uint8_t>(tensor);
    case DType::kI8: return As<int64_t, int8_t>(tensor);
    case DType::kI16: return As<int64_t, int16_t>(tensor);
    case DType::kI32: return As<int64_t, int32_t>(tensor);
    case DType::kI64: return As<int64_t, int64_t>(tensor);
    default: return std::nullopt;
  }
}

std::optional<std::vector<float>> FloatsOf(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF16: return As<float, Half>(tensor);
    case DType::kBF16: return As<float, BFloat16>(tensor);
    case DType::kF32: return As<float, float>(tensor);
    default: return std::nullopt;
  }
}

}  // namespace ampc
