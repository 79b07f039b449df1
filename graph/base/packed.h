// Elements of 2 and 4 bits: a byte for each in memory (signed ones with their sign), several to a byte in files, the first in the low bits.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"

namespace ampc {

// Bytes of `n` elements in a file.
constexpr int64_t PackedBytes(int bits, int64_t n) { return bits >= 8 ? n * (bits / 8) : n / (8 / bits) + (n % (8 / bits) != 0 ? 1 : 0); }

// `n` elements as they lie in memory, of a type that IsPacked, appended as they lie in a file; and back.
void AppendPacked(DType dtype, const void* elements, int64_t n, std::string* out);
void Unpack(DType dtype, absl::string_view packed, int64_t n, void* elements);  // `packed` has PackedBytes of them

// The element that the low bits of `bits` are, as it lies in memory.
uint8_t PackedElement(DType dtype, uint8_t bits);

}  // namespace ampc
