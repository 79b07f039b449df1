// Paddle 3's inference models: a program as JSON (PIR) and Paddle 2's parameter file.
#pragma once

#include "graph/formats/format.h"

namespace ampc {

const ModelFormat& PirFormat();

}  // namespace ampc
