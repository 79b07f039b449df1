// Options of other converters and runtimes, with their names here.
#pragma once

#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace ampc {

// "; here it is --dtype fp16" for an option of ONNX Runtime's, onnxconverter-common's, ModelOpt's, Polygraphy's, trtexec's, Paddle's or a
// trainer's, and for one of `known` (with dashes) that is written with underscores or capitals; "" for others. Names no option but those.
std::string PeerHint(absl::string_view option, std::span<const std::string> known);

}  // namespace ampc
