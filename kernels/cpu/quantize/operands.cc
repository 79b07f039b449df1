#include "kernels/cpu/quantize/operands.h"

#include "kernels/kernel.h"

namespace ampc {

std::optional<std::vector<float>> ConstantFloats(const SpecView& view, absl::string_view slot) {
  const int flat = view.In(slot);
  if (flat < 0) return std::vector<float>();
  const HostTensor* value = view.spec().values[flat];
  if (value == nullptr) return std::nullopt;
  return std::vector<float>(value->values<float>().begin(), value->values<float>().end());
}

std::optional<std::vector<int32_t>> ConstantInts(const SpecView& view, absl::string_view slot) {
  const int flat = view.In(slot);
  if (flat < 0) return std::vector<int32_t>();
  const HostTensor* value = view.spec().values[flat];
  if (value == nullptr) return std::nullopt;
  std::vector<int32_t> ints(view.spec().inputs[flat].NumElements());
  for (size_t i = 0; i < ints.size(); ++i) {
    ints[i] = static_cast<int32_t>(ReadAsInt(value->data(), view.spec().inputs[flat].dtype, static_cast<int64_t>(i)));
  }
  return ints;
}

void FlipSigns(const void* in, void* out, int64_t n) {
  const auto* from = static_cast<const uint8_t*>(in);
  auto* to = static_cast<uint8_t*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] ^ uint8_t { 0x80 };
}

}  // namespace ampc
