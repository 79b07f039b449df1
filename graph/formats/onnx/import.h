// From an ONNX model to the IR.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/program.h"

namespace ampc::onnx {

// The program that the bytes of `source`, the file `path`, describe. The program's origin keeps `source`. BadInput (exit 3) for a malformed
// model, for a cyclic graph, for names that nothing defines, and for external data that is absent or lies outside the model's folder;
// Unsupported (exit 4) for an operator set after the newest that is known.
//
// Nodes become ops one to one and are sorted where the file does not have them in order. `Cast` is the native `cast`, `Constant` and
// initializers are values: const up to 1024 elements, param beyond, state for what ampc has no type for. A node that no record fits is
// opaque: named onnx.<Type>, or <domain>.<Type>. Types are what the ops compute; what the file declares counts where they do not say.
// With `program_only` external files are not looked for, and the weights in them stay absent.
absl::StatusOr<Program> ImportModel(std::shared_ptr<const WeightSource> source, const std::string& path, bool program_only);

}  // namespace ampc::onnx
