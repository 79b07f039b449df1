// ONNX models: one file, with or without further files of weights.
#pragma once

#include "graph/formats/format.h"

namespace ampc {

const ModelFormat& OnnxFormat();

}  // namespace ampc
