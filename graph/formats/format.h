// Model files: one entry point for every format, chosen by name and content.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/program.h"

namespace ampc {

class AtomicFileSet;
class MemoryFiles;

struct LoadOptions {
  std::string params = "";    // Paddle: the parameter file; "" looks beside the program. Usage error for another format
  bool program_only = false;  // do not look for weights
};

struct SaveOptions {
  std::string params = "";        // Paddle: where parameters go; "" is beside the program. Usage error for another format
  bool no_sync = false;           // skip fsync
  bool program_only = false;      // write no weights
  MemoryFiles* memory = nullptr;  // gets the files instead of the disk
  // Called now and then while weights are written, with bytes done and bytes in all; false stops it: absl::StatusCode::kCancelled.
  std::function<bool(double done, double total)> progress = nullptr;
  // Called once per weight written that has transforms, with what they did to it.
  std::function<void(const Var& var, const WeightDamage& damage)> on_weight = nullptr;
};

// Reads a model; the program is not verified. BadInput (exit 3) for an absent or malformed file, Unsupported (exit 4) for a format or
// feature that is not read. The program's weights refer into the files, which must stay as they are while it lives. A save of that model
// that was interrupted after its last byte was written is finished first (graph/base/atomic_file_set.h). A model that lies in memory
// (graph/base/memory_files.h) is read from there.
absl::StatusOr<Program> LoadModel(const std::string& path, const LoadOptions& options = {});

// The usage errors of SaveModel, before there is a program.
absl::Status CheckSave(const std::string& path, const SaveOptions& options);

// Writes a model; its files are replaced as one (graph/base/atomic_file_set.h). Unsupported when the program has something
// that the format cannot say; Usage when no format has such a name.
absl::Status SaveModel(const Program& program, const std::string& path, const SaveOptions& options = {});
// The same as files of `set`, with the program as its head: nothing is replaced before that is committed.
absl::Status AddModel(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set);

// One format. all_formats.inc lists them; the first that says yes is taken.
struct ModelFormat {
  absl::string_view name;
  absl::string_view doc;  // "x.pdmodel + x.pdiparams", for messages
  bool takes_params;      // weights may lie where LoadOptions and SaveOptions say
  bool takes_folders;     // a program of this format is written into a folder that is named
  // `path` exists; `head` holds its first bytes, "" for a directory.
  bool (*reads)(const std::string& path, bool is_directory, absl::string_view head);
  bool (*writes)(const std::string& path, bool is_directory);  // by name: the file need not exist
  absl::StatusOr<Program> (*load)(const std::string& path, const LoadOptions& options);
  absl::Status (*save)(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set);  // AddModel
};

}  // namespace ampc
