#include "graph/base/packed.h"

namespace ampc {
namespace {

bool IsSigned(DType dtype) { return dtype == DType::kI4 || dtype == DType::kI2; }

}  // namespace

uint8_t PackedElement(DType dtype, uint8_t bits) {
  const int width = BitsOf(dtype), mask = (1 << width) - 1, value = bits & mask;
  return static_cast<uint8_t>(IsSigned(dtype) && value > mask / 2 ? value - mask - 1 : value);
}

void AppendPacked(DType dtype, const void* elements, int64_t n, std::string* out) {
  const auto* in = static_cast<const uint8_t*>(elements);
  const int bits = BitsOf(dtype), per_byte = 8 / bits, mask = (1 << bits) - 1;
  for (int64_t i = 0; i < n; i += per_byte) {
    int byte = 0;
    for (int k = 0; k < per_byte && i + k < n; ++k) byte |= (in[i + k] & mask) << (k * bits);
    out->push_back(static_cast<char>(byte));
  }
}

void Unpack(DType dtype, absl::string_view packed, int64_t n, void* elements) {
  auto* out = static_cast<uint8_t*>(elements);
  const int bits = BitsOf(dtype), per_byte = 8 / bits;
  for (int64_t i = 0; i < n; ++i)
    out[i] = PackedElement(dtype, static_cast<uint8_t>(static_cast<uint8_t>(packed[i / per_byte]) >> (i % per_byte * bits)));
}

}  // namespace ampc
