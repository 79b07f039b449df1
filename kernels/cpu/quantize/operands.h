// Operands of quantised arithmetic as its kernels read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// The elements of a constant operand of f32, or of a whole type of up to 32 bits; empty where it is absent, nullopt where it is not
// constant.
std::optional<std::vector<float>> ConstantFloats(const SpecView& view, absl::string_view slot);
std::optional<std::vector<int32_t>> ConstantInts(const SpecView& view, absl::string_view slot);

// u8 as i8: each less by 128, the byte with its highest bit turned round.
void FlipSigns(const void* in, void* out, int64_t n);

}  // namespace ampc
