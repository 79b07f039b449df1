// ONNX models as text, one line a declaration or node:
//
//   opset 17                                   opset com.microsoft 1
//   in x f32 [4, ?]                            in m bool []           in u f32 [*]      (no shape)      in s seq(f32) [4]
//   w w f32 [4, 16]                            an initializer: small multiples of 1/32, exact in every float type
//   w k i64 [2] = 3, -1                        its values; one for all repeats
//   value a f32 [4, 16]                        a value_info
//   a = MatMul(x, w)                           b = Resize@name(a, , , sizes) mode="nearest"
//   b, c = com.microsoft.Op(a) alpha=0.5 axes=[0, 1] to=f16 value=f32[1]{2}      the domain in front of the last dot
//   d = If(m) then_branch={                    lines of the graph; an out ends where the next begins
//     t = Relu(a)
//     out t f32 [4, 16]
//   } else_branch={
//     out a f32 [4, 16]
//   }
//   function mine.Lin(a, b; alpha) -> y {      of the model, with attributes; alpha=@alpha:f refers to one of kind f i s F I g t
//     opset 17
//     y = MatMul(a, b)
//   }
//   out d f32 [4, 16]
//
// Text behind # is no part of a line. Throws std::runtime_error with the line for nonsense: the texts are the tests' own.
#pragma once

#include <string>

#include "proto/onnx.pb.h"

namespace ampc::testing {

onnx::ModelProto ModelFromText(const std::string& text);

}  // namespace ampc::testing
