// What ONNX's schemas allow of mixed precision: an operator's version names the element types of each operand and result.
#pragma once

#include "graph/op_def.h"

namespace ampc {

// How operand or result slot `slot` takes part when the op computes in `low`: as the record says, but fp32 where the version of an ONNX
// operator does not have `low` there.
SlotPrecision InputPrecisionFor(const OpDef& def, int slot, DType low);
SlotPrecision OutputPrecisionFor(const OpDef& def, int slot, DType low);

// May the op compute in `low` as far as its version says? True for an op that is not ONNX's.
bool SchemaAllows(const OpDef& def, DType low);

// Does an earlier version of the operator say in an attribute what operand slot `slot` says (the axes of a reduction)? False for an op that
// is not ONNX's.
bool WasAttribute(const OpDef& def, int slot);

}  // namespace ampc
