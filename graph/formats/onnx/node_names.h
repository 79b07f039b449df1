// The name of the node in an ONNX file that an op of a program was.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc::onnx {

// "/layer1/conv1/Conv"; "" for an op that no file had, and for another format. Refers into the file that the program keeps.
absl::string_view NodeName(const Program& program, const Op& op);

// The scopes that the node lies in: what stands in front of its name ("/layer1/conv1/"), and the modules that PyTorch's exporter writes
// into pkg.torch.onnx.name_scopes, with dots as they are and with slashes ("layer1.conv1", "/layer1/conv1/").
std::vector<std::string> NodeScopes(const Program& program, const Op& op);

}  // namespace ampc::onnx
