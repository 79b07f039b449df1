// Cost functions of the records: floating point operations and bytes read and written once. An unknown dimension counts as 1.
#pragma once

#include "graph/op.h"
#include "graph/op_def.h"

namespace ampc::ops {

double Elements(const TensorType& type);  // 1 without a known rank
double Bytes(const TensorType& type);
double TotalBytes(const Op& op);       // all operands and results
double ResultElements(const Op& op);   // of the first result; 0 without results
double OperandElements(const Op& op);  // of the first operand; 0 without operands

// Moves every operand and result once and computes nothing.
Cost MoveCost(const Op& op);
// Nothing is moved or computed at run time: a view of the operand, a shape, a constant of the plan.
Cost FreeCost(const Op& op);
// kFlops per element of the first result.
template <int kFlops>
Cost PerResult(const Op& op) {
  return {kFlops * ResultElements(op), TotalBytes(op)};
}
// kFlops per element of the first operand: reductions and losses.
template <int kFlops>
Cost PerOperand(const Op& op) {
  return {kFlops * OperandElements(op), TotalBytes(op)};
}

}  // namespace ampc::ops
