// Files that are not models of a known format, recognised by what they begin with: what they are, and the way to one that is read.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace ampc {

// A sentence ("is a PyTorch checkpoint; ..."), or "". `head`: the file's first bytes, 64 and more where it has them; "" for a folder.
std::string ForeignFile(const std::string& path, bool is_directory, absl::string_view head);

// ", did you mean 'r18.onnx'?" for a path that does not exist, from the names beside it; else "".
std::string NearFile(const std::string& path);

}  // namespace ampc
