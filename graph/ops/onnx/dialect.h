// The ops of the ONNX dialect: `onnx.<Type>.<since>` is a node of operator <Type> as operator sets from <since> on have it, and
// `com.microsoft.<Type>.1` one of an operator of ONNX Runtime's own, which its optimizer and quantizers write.
//
// Import makes them one to one, except for Cast, which is `cast`, and Constant, which is a const or param. A subgraph is a block that
// begins with `onnx.enter` (its inputs; left out without any) and ends with `onnx.yield` (its outputs); the op that has it lists the outer
// values that the block reads in its last operand slot, `captures`.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "graph/op_def.h"

namespace ampc::onnx {

struct OnnxDef;

// "onnx.Conv.11", or "onnx.Conv" for the newest version; null when there is none. Thread-safe.
const OpDef* FindOp(absl::string_view name);
// The version of an operator that operator set `opset` has; null when there is none.
const OpDef* FindOp(absl::string_view type, int opset);
// Every version of every operator, by type and version, then onnx.enter and onnx.yield.
std::vector<const OpDef*> AllOps();

// Null for an op of another dialect, an opaque one, onnx.enter and onnx.yield.
const OnnxDef* DefOf(const OpDef& def);
// "Conv" for onnx.Conv.11, "com.microsoft.FusedConv" for com.microsoft.FusedConv.1; the op's name as it is for one of another dialect.
absl::string_view TypeName(const OpDef& def);
// The native op with the same or nearly the same meaning ("conv2d" for onnx.Conv.11): whoever knows what the native op does to values knows
// it of this one. The op's own name where it is native; "" where there is none.
absl::string_view NativeName(const OpDef& def);

inline constexpr absl::string_view kEnter = "onnx.enter";
inline constexpr absl::string_view kYield = "onnx.yield";
inline constexpr absl::string_view kCaptures = "captures";

}  // namespace ampc::onnx
