// Numbers as text: the shortest that reads back to the same bits.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "graph/attr.h"
#include "graph/base/dtype.h"

namespace ampc::text {

// `0.1`, `1.0`, `1e-05`, `inf`, `nan`, `nan(0x7fc00001)`: never to be taken for an integer.
void AppendFloat(float value, std::string* out);
void AppendDouble(double value, std::string* out);  // without the suffix `d`
// One element of a tensor of that type at `data`, which need not be aligned. c64 and c128 print as `complex(re, im)`.
void AppendElement(DType dtype, const char* data, std::string* out);

// The value of a number token as an attribute: 3 int, 3l long, 0.1 float, 0.1d double. False when it is none or out of range.
bool ParseNumber(absl::string_view text, AttrValue* value);
// A whole number token, or a word (`inf`, `-inf`, `nan`), as a float or double. False when it is none or out of range.
bool ParseFloat(absl::string_view text, float* value);
bool ParseFloat(absl::string_view text, double* value);

}  // namespace ampc::text
