// The check of a command's device before anything else.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/cli/console.h"

namespace ampc {

// The errors of OpenDevice, before files are read; a note when the device has no tensor cores.
absl::Status CheckDevice(const std::string& device, Console& console);

}  // namespace ampc
