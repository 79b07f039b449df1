// Program text: x.prog (graph/text/parser.h) with the weights in x.safetensors.
#pragma once

#include "graph/formats/format.h"

namespace ampc {

const ModelFormat& ProgFormat();

}  // namespace ampc
