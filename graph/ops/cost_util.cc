#include "graph/ops/cost_util.h"

namespace ampc::ops {

double Elements(const TensorType& type) {
  double n = 1;
  for (int64_t d : type.dims) n *= IsKnown(d) ? static_cast<double>(d) : 1.0;
  return n;
}

double Bytes(const TensorType& type) { return Elements(type) * static_cast<double>(SizeOf(type.dtype)); }

double TotalBytes(const Op& op) {
  double bytes = 0;
  for (const Var* var : op.inputs()) bytes += Bytes(var->type);
  for (const Var* var : op.outputs()) bytes += Bytes(var->type);
  return bytes;
}

double ResultElements(const Op& op) { return op.outputs().empty() ? 0 : Elements(op.outputs()[0]->type); }

double OperandElements(const Op& op) { return op.inputs().empty() ? 0 : Elements(op.inputs()[0]->type); }

Cost MoveCost(const Op& op) { return {0, TotalBytes(op)}; }

Cost FreeCost(const Op&) { return {}; }

}  // namespace ampc::ops
