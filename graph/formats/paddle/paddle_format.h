// Paddle inference models: x.pdmodel + x.pdiparams, __model__ + separate files or one file. Paddle 1.8 to 2.6.
#pragma once

#include "graph/formats/format.h"

namespace ampc {

const ModelFormat& PaddleFormat();

}  // namespace ampc
