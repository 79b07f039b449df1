// ampc's own format: model.ampc (proto/program.proto) and model.safetensors.
#pragma once

#include "graph/formats/format.h"

namespace ampc {

const ModelFormat& AmpcFormat();

}  // namespace ampc
