// upgrade-onnx-opset: bf16 came to ONNX's operators with later operator sets (13 for most, 22 for Conv), and a file has one operator set.
// The pass takes every node to the version that the lowest sufficient set has, where that changes nothing of what the nodes mean.
//
//   y = onnx.Conv.11(x, w)                       y = onnx.Conv.22(x, w)
//   z = onnx.Unsqueeze.11(y) axes=[0l]     ->    const z.operand : i64 [1] = [0]
//                                                z = onnx.Unsqueeze.21(y, z.operand)
//
// The set is the lowest that has the type for convolutions and matrix products that are to become low, and for Cast. Exit code 4 names
// the ops that have no lossless conversion to it. Options: dtype=f16|bf16, black-list, include, exclude as in amp-decide. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo UpgradeOnnxOpsetPass();

}  // namespace ampc
