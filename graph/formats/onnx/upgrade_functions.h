// The local functions of an ONNX file on their way to a later operator set.
//
//   function my.f(a) -> b {                               function my.f(a) -> b {
//     opset 17                                              opset 22
//     b = ReduceMean(a) axes=[2, 3]            ->           b.operand = Constant() value=i64[2]{2, 3}
//   }                                                       b = ReduceMean(a, b.operand)
//                                                         }
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/program.h"

namespace ampc::onnx {

// The operator set of the file that the program comes from; 0 if it comes from no ONNX file.
int OpsetOf(const Program& program);

// The op that `op` of `block` becomes in the later set, without types; null if it has no conversion. `unknown`: attributes of the op whose
// values come with a call.
using UpgradeNodeFn = absl::FunctionRef<std::unique_ptr<Op>(const Op& op, Block& block, const std::vector<std::string>& unknown)>;

// Writes the functions into the program's origin; false if nothing changes. The model's set has to have the same versions of the operators
// in their bodies. Unsupported if a node has no conversion: the message is the function and the node.
absl::StatusOr<bool> UpgradeFunctions(int opset, UpgradeNodeFn upgrade_node, Program& program);

}  // namespace ampc::onnx
