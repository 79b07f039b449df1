// The implementations behind convert.h, visible so that a test can compare each with the scalar one.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"

namespace ampc::convert_internal {

struct Functions {
  std::string_view name;
  void (*f32_to_f16)(const float*, Half*, size_t);
  void (*f16_to_f32)(const Half*, float*, size_t);
  void (*f32_to_bf16)(const float*, BFloat16*, size_t);
  void (*bf16_to_f32)(const BFloat16*, float*, size_t);
  void (*round_f16)(float*, size_t);
  void (*round_bf16)(float*, size_t);
};

extern const Functions kScalar;
#if defined(__x86_64__)
extern const Functions kAvx2;    // needs AVX2 and F16C
extern const Functions kAvx512;  // needs AVX-512 F, BW and VL
#endif

// The implementations this CPU can run, slowest first; kScalar is always there.
std::vector<const Functions*> Available();

}  // namespace ampc::convert_internal
