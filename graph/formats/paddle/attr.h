// Attributes between Paddle's messages and the IR.
#pragma once

#include <optional>
#include <vector>

#include "graph/attr.h"
#include "graph/op_def.h"
#include "proto/paddle_framework.pb.h"

namespace ampc::paddle {

// Attributes that stay in the origin: long, and of no meaning to the compiler.
bool StaysInOrigin(absl::string_view attr);

// The attribute's value as `def` (null when the record does not know the attribute) wants it: a data type attribute's
// number becomes a DType (-1 becomes kInvalid), a scalar becomes the number it holds. nullopt when the value does not fit
// the record or has a type that this file format does not define.
std::optional<AttrValue> ImportAttr(const OpDesc_Attr& attr, const AttrDef* def);

// The attribute refers to blocks of the program, and to which.
bool IsBlocks(const OpDesc_Attr& attr);
std::vector<int> BlocksOf(const OpDesc_Attr& attr);

// True when a record's attribute of type `want` takes a value of type `have`: int and long, float and double are one.
bool SameFamily(const AttrValue& have, const AttrValue& want);

// Replaces type and value of `attr`; its name stays.
void ExportAttr(const AttrValue& value, OpDesc_Attr* attr);

}  // namespace ampc::paddle
