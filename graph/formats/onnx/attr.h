// Attributes of nodes and of ops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/formats/onnx/messages.h"
#include "graph/op_def.h"
#include "graph/weight.h"

namespace ampc::onnx {

// The attribute as the record has it, appended: two for a tensor of one element (its value, and `<name>_dtype`), none for a subgraph. False
// when it does not fit. A null `def` takes what it can: tensors and other kinds stay out. `file`: the model.
bool ImportAttr(const AttributeView& view, const AttrDef* def, const std::shared_ptr<const WeightSource>& file, std::vector<Attr>* attrs);

// An AttributeProto; "" for a kind that has none (subgraphs, scalars).
std::string EncodeAttr(absl::string_view name, const AttrValue& value);
// The element as stored in a tensor of `dtype`.
std::string ScalarBytes(const Scalar& scalar, DType dtype);

}  // namespace ampc::onnx
