// Inference and cost of ONNX ops from what they are lowered to.
#pragma once

#include "absl/status/status.h"
#include "graph/infer_context.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {

// A record of the dialect, with what its inference asks at every op. Every OnnxDef is one.
struct InferredDef : OnnxDef {
  using OnnxDef::OnnxDef;
  const OpDef* native = nullptr;  // the record that op->native names; null for none
};

// InferFn of every record of the dialect: operands must be of types that the schema allows, and of one type where it says so; the results
// are what the record's inference, its native record or its lowering says, and otherwise of the type that the schema ties to the operands.
absl::Status InferOnnx(InferContext& ctx);
// CostFn of every record: unknown dims count as 1.
Cost CostOnnx(const Op& op);

}  // namespace ampc::onnx
