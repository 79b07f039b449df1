// Attribute values: a typed variant with every type that Paddle and ONNX attributes have.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"

namespace ampc {

struct BlockRef {  // a block of the same Program, by index
  int32_t index = -1;
  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

struct VarName {  // an attribute that names a variable; kept for export, not a use of the value
  std::string name;
  friend bool operator==(const VarName&, const VarName&) = default;
};

struct Scalar {
  std::variant<bool, int64_t, double, std::complex<double>> value;
  friend bool operator==(const Scalar&, const Scalar&) = default;
};

// int32_t and int64_t differ, float and double differ: formats distinguish them. A DType alternative is a data type
// attribute (a number on the wire of a format).
using AttrValue = std::variant<bool, int32_t, int64_t, float, double, std::string, DType, BlockRef, VarName, Scalar,  //
                               std::vector<bool>, std::vector<int32_t>, std::vector<int64_t>, std::vector<float>, std::vector<double>,
                               std::vector<std::string>, std::vector<BlockRef>, std::vector<VarName>, std::vector<Scalar>>;

struct Attr {
  std::string name;
  AttrValue value;
};

// Equal type and value; floats compare by bits, so NaN equals itself and -0 differs from 0.
bool SameAttr(const AttrValue& a, const AttrValue& b);
// "int", "long", "float list", ...: for messages.
absl::string_view AttrTypeName(const AttrValue& value);

}  // namespace ampc
