// The ONNX standard's schemas of each version of each operator of its default domain (data: schemas.inc), and ONNX Runtime's of operators
// of its own domain com.microsoft, which are all of version 1 (schemas_microsoft.inc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/attr.h"
#include "graph/base/dtype.h"

namespace ampc::onnx {

// A set of element types: bit 1 << DType. Types that ampc does not have (strings, sequences, float8, ...) are kOtherTypes.
using TypeSet = uint32_t;
constexpr TypeSet Bit(DType dtype) { return 1u << static_cast<int>(dtype); }
inline constexpr TypeSet kOtherTypes = 1u << 31;

struct Formal {  // a formal operand or result
  std::string name;
  int type = -1;  // index into Schema::types: formals with the same index have the same type
  bool optional = false;
  bool variadic = false;
  bool heterogeneous = false;  // variadic: each operand has a type of its own
};

struct FormalAttr {
  std::string name;
  // One of f i s F I S (float, int, string and lists of them), d (an int that is a data type), g (subgraph), t (tensor; ampc has those of
  // one element, as a Scalar and the attribute `<name>_dtype`), ? (another kind, which makes a node that has it opaque).
  char kind = 'i';
  bool required = false;
  bool has_default = false;
  AttrValue value;  // the default, or an empty value of the kind
};

struct Schema {
  std::string type;         // "Conv"; "com.microsoft.FusedConv", with the domain where it is not the default one
  int since = 0;            // the first operator set that has it so
  bool deprecated = false;  // taken out: no later version follows
  std::vector<Formal> inputs;
  std::vector<Formal> outputs;
  std::vector<TypeSet> types;
  std::vector<FormalAttr> attrs;
};

// "com.microsoft" of "com.microsoft.FusedConv", "" of "Conv".
inline absl::string_view DomainOf(absl::string_view type) {
  const size_t dot = type.rfind('.');
  return dot == absl::string_view::npos ? absl::string_view() : type.substr(0, dot);
}
// The name in a file: "FusedConv", "Conv".
inline absl::string_view OperatorOf(absl::string_view type) { return type.substr(type.rfind('.') + 1); }

// All versions, by type and then by version. Thread-safe.
const std::vector<Schema>& Schemas();
// The version that operator set `opset` has: the newest since then. Null when there is none.
const Schema* FindSchema(absl::string_view type, int opset);
// A node that a file has for operator set `from` may stand as it is in one of set `to`: the operator is the same but for the
// types it takes.
bool DiffersInTypesAlone(absl::string_view type, int from, int to);
// The newest operator set that Schemas() describes.
int NewestOpset();

}  // namespace ampc::onnx
