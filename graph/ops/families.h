// Records that differ only in name, cost and AMP class start here; a file adds what is its own.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// X -> Out of the same type; gradient <name>_grad; one flop per element.
OpDef Unary(std::string name, std::string doc);
// X, Y -> Out broadcast by Paddle's axis rule; gradient <name>_grad; one flop per element.
OpDef Elementwise(std::string name, std::string doc);
// X, Y -> bool Out, broadcast alike: a comparison of two operands of one type.
OpDef Comparison(std::string name, std::string doc);
// Operands of any type -> bool Out; X, Y broadcast, or X alone. Never low, and its operands do not become so for it.
OpDef Logical(std::string name, std::string doc, bool binary = true);
// Integers or bool -> the same type; X, Y broadcast, or X alone.
OpDef Bitwise(std::string name, std::string doc, bool binary = true);
// X -> Out over the axes `dim`; gradient <name>_grad; one flop per element of X.
OpDef Reduction(std::string name, std::string doc);
// X of any type -> bool Out over the axes in AxisTensorList, AxisTensor or `dim`.
OpDef LogicalReduction(std::string name, std::string doc);
// Resizing of the spatial dimensions to a given size or by a factor (nearest_interp_v2, ...); gradient <name>_grad.
OpDef Interpolation(std::string name, std::string method, std::string doc);

// The record with result `slot` allowed to overwrite a param or state: assignments, casts of master weights, accumulations.
OpDef MayOverwrite(OpDef def, const std::string& slot = "Out");
// Attributes that Paddle's int8 library adds to arithmetic ops.
OpDef& QuantExtras(OpDef& def);

}  // namespace ampc::ops
