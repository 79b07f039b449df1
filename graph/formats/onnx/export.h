// From the IR to an ONNX model and its external data.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "graph/formats/format.h"
#include "graph/program.h"

namespace ampc::onnx {

// Models with more weights than this get them in a file of their own: a protobuf message ends at 2 GiB.
inline constexpr uint64_t kMostInFile = 1'500'000'000;

// Writes the model. The parts of the program's ONNX origin that nothing changed are written byte for byte as they were, in the order of
// the file; the rest is patched. Casts that passes put in stand in front of the first node that reads them; constants without an origin
// become initializers. The operator set is the newest that an op needs. Weights beyond `most_in_file` bytes in all, and those of a model
// that came with external data, go to
// `<path>.data`, which is written first. `ampc strip` reads the metadata entry ampc_undo (undo.h).
// Unsupported for an op that is neither of the ONNX dialect nor `cast`, and where no operator set has all ops as they are.
absl::Status ExportModel(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set,
                         uint64_t most_in_file = kMostInFile);

}  // namespace ampc::onnx
