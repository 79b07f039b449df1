// Options of other converters and runtimes, with their names here.
#pragma once

#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace ampc {

// "; here it is --dtype fp16" for an option of ONNX Runtime's, onnxconverter-common's, ModelOpt's, Polygraphy's, trtexec's or Paddle's
// tools, and for one of `known` (with dashes) that is written with underscores or capitals; "" for others.
std::string PeerHint(absl::string_view option, std::span<const std::string> known);

}  // namespace ampc
