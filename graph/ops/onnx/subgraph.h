// The subgraphs of If, Loop, Scan and SequenceMap: their borders and the types inside.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/program.h"

namespace ampc::onnx {

// A block between its onnx.enter and its onnx.yield.
struct Subgraph {
  Block* block = nullptr;
  absl::Span<Var* const> inputs;   // the entries: results of onnx.enter; none without one
  absl::Span<Var* const> outputs;  // operands of onnx.yield
};

// The block that attribute `name` of `op` refers to. BadInput where it does not end with onnx.yield.
absl::StatusOr<Subgraph> SubgraphOf(const Op& op, absl::string_view name);

// The type that values of both types have: dims that differ are not known, nor is the rank where ranks differ.
TensorType Union(const TensorType& a, const TensorType& b);

// Takes from `inferred` what `have` leaves open: that it is a sequence, element type, rank, dims. Returns whether that is anything.
bool Fill(const TensorType& inferred, TensorType* have);

// Fills the types that are open in `block` and in the blocks of its ops, in program order: element types, ranks and dims that inference
// knows; what is known stays. Entries of a Loop's body get what neither the first iteration nor a later one contradicts, which takes a few
// rounds of inference over the body. Returns whether anything changed. Errors are those of inference.
absl::StatusOr<bool> InferBlock(Block& block);
// The same for the blocks of one op.
absl::StatusOr<bool> InferSubBlocks(Op& op);

}  // namespace ampc::onnx
