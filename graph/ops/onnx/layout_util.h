// Channels behind the dims of an image, as ONNX Runtime's operators for it have them.
#pragma once

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

Var* ChannelsFirst(Lowering& l, Var* x);
Var* ChannelsLast(Lowering& l, Var* x);

}  // namespace ampc::onnx
