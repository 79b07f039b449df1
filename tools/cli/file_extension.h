// The kind of a file by the extension of its name.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ampc {

// Usage error where `path`, which `option` names, is given and does not end in `extension`: the one format that is written there, `what` in
// words.
absl::Status CheckExtension(absl::string_view option, const std::string& path, absl::string_view extension, absl::string_view what);

}  // namespace ampc
