// PIR's types and attributes, as its JSON has them, and the IR's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/attr.h"
#include "graph/base/json_tape.h"
#include "graph/type.h"

namespace ampc::pir {

// The type of a tensor, {"#": "0.t_dtensor", "D": [element type, dims, layout, lod, offset]}; another kind of value is opaque. BadInput
// says what does not fit, without a place.
absl::StatusOr<TensorType> ReadType(JsonRef type);
// A result that is not there.
bool IsNoType(JsonRef type);
// The types of the elements of a list, {"#": "0.t_vec", "D": [...]}; none for another type.
JsonRef ElementTypes(JsonRef type);
// The name of a tensor's element type in a type; none for another type.
JsonRef ElementTypeName(JsonRef type);

// "0.t_bf16", "bfloat16": element types in types and in attributes. The first is "" for one that PIR does not have.
std::string TypeName(DType dtype);
std::string AttrName(DType dtype);

// The value of an attribute, {"#": kind, "D": value}; nullopt for a kind without a form in the IR, which stays in the origin. BadInput says
// what does not fit, without a place.
absl::StatusOr<std::optional<AttrValue>> ReadAttr(JsonRef attr);

// `value` as an attribute of the type of `want`: numbers of another width that fit, one number for a list; nullopt where it does not fit.
std::optional<AttrValue> ConvertAttr(const AttrValue& value, const AttrValue& want);

// The numbers of a scalar or a list; nullopt for what is none.
std::optional<std::vector<double>> Numbers(const AttrValue& value);

}  // namespace ampc::pir
