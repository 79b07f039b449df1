// Which files the name of a model stands for, and whether what was told may be written.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/program.h"

namespace ampc {

// The program's file and the one with its weights, as the model's name implies them; `params` is where the user says that these are, "" for
// beside the program. Of a folder, what it may have. An ONNX model that ampc wrote has a second file only where its weights are too large
// to be in the model. FilesRead knows what else an existing model reads, once it is read.
std::vector<std::string> ModelFiles(const std::string& model, const std::string& params);
// Those that saving a model makes; with `program_only` no weights.
std::vector<std::string> SavedFiles(const std::string& model, const std::string& params, bool program_only);

// Before any work is done: no output is one of the inputs or another output (usage error), and each can be created (I/O error).
// Empty names are skipped, inputs need not exist. Devices and pipes may be given again.
absl::Status CheckOutputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);
// After the inputs were read: no output is a file that was (usage error).
absl::Status CheckNotRead(const std::vector<std::string>& outputs, const FilesRead& read);
// SaveModel, unless it would replace a file that was read (usage error).
absl::Status SaveModelApart(const Program& program, const std::string& path, const SaveOptions& options, const FilesRead& read);

// Can files be made in the folder, or the folder itself? An I/O error says why not; nothing is made.
absl::Status CheckFolder(const std::string& path);

}  // namespace ampc
