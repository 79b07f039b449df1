#include "graph/formats/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return absl::EndsWith(path, "/") || fs::is_directory(path, ignored);
}

// A folder is made by the format that writes into it; a device or a pipe must not be opened twice.
bool IsPlainFile(const std::string& path) {
  std::error_code ignored;
  return !IsFolder(path) && (!fs::exists(path, ignored) || fs::is_regular_file(path, ignored));
}

// The same text for all names of one file or folder; "" for a device or a pipe, which writing does not replace.
std::string Identity(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0)
    return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) ? absl::StrCat(info.st_dev, ":", info.st_ino) : "";
  std::error_code ignored;
  const fs::path absolute = fs::absolute(path, ignored).lexically_normal();
  return (fs::weakly_canonical(absolute.parent_path(), ignored) / absolute.filename()).string();
}

template <typename Paths>
std::set<std::string> Identities(const Paths& paths) {
  std::set<std::string> identities;
  for (const std::string& path : paths) {
    if (!path.empty()) identities.insert(Identity(path));
  }
  identities.erase("");
  return identities;
}

absl::Status CheckApart(const std::vector<std::string>& outputs, const std::set<std::string>& inputs) {
  for (const std::string& output : outputs) {
    if (!output.empty() && inputs.contains(Identity(output)))
      return UsageError(absl::StrCat("output '", output, "' is the input; another name is needed"));
  }
  return absl::OkStatus();
}

// The file where the weights of `model` lie when nothing else is said, "" for an unknown extension.
std::string WeightsBeside(const std::string& model) {
  const std::string extension = fs::path(model).extension().string();
  if (extension == ".onnx") return model + ".data";
  if (fs::path(model).filename() == "__model__") return fs::path(model).replace_filename("__params__").string();
  const char* weights = extension == ".pdmodel" || extension == ".json" ? ".pdiparams"
                        : extension == ".ampc" || extension == ".prog"  ? ".safetensors"
                                                                        : "";
  return *weights == '\0' ? "" : fs::path(model).replace_extension(weights).string();
}

}  // namespace

std::vector<std::string> ModelFiles(const std::string& model, const std::string& params) {
  std::error_code ignored;
  if (!fs::is_directory(model, ignored)) return {model, params.empty() ? WeightsBeside(model) : params};
  std::vector<std::string> files = {model, params};
  for (const char* name : {"__model__", "__params__", "inference.pdmodel", "inference.json", "inference.pdiparams"})
    files.push_back((fs::path(model) / name).string());
  return files;
}

std::vector<std::string> SavedFiles(const std::string& model, const std::string& params, bool program_only) {
  std::vector<std::string> files = ModelFiles(model, params);
  if (program_only) files.resize(1);
  return files;
}

absl::Status CheckOutputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  AMPC_RETURN_IF_ERROR(CheckApart(outputs, Identities(inputs)));
  std::set<std::string> seen;
  for (const std::string& output : outputs) {
    if (output.empty() || IsFolder(output)) continue;
    const std::string identity = Identity(output);
    if (!identity.empty() && !seen.insert(identity).second) {
      return UsageError(absl::StrCat("two outputs are the same file '", output, "'; another name is needed"));
    }
  }
  for (const std::string& output : outputs) {
    if (!output.empty() && IsPlainFile(output)) AMPC_RETURN_IF_ERROR(AtomicFileWriter::Create(output).status());
  }
  return absl::OkStatus();
}

absl::Status CheckNotRead(const std::vector<std::string>& outputs, const FilesRead& read) {
  return CheckApart(outputs, Identities(read.paths()));
}

absl::Status SaveModelApart(const Program& program, const std::string& path, const SaveOptions& options, const FilesRead& read) {
  AtomicFileSet files({.no_sync = options.no_sync});
  AMPC_RETURN_IF_ERROR(AddModel(program, path, options, &files));
  AMPC_RETURN_IF_ERROR(CheckNotRead(files.targets(), read));
  return files.Commit();
}

absl::Status CheckFolder(const std::string& path) {
  std::error_code ignored;
  fs::path there = fs::absolute(path, ignored).lexically_normal();
  while (!fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  const int error = !fs::is_directory(there, ignored) ? ENOTDIR : access(there.c_str(), W_OK | X_OK) != 0 ? errno : 0;
  return error == 0 ? absl::OkStatus() : SystemError(path, "be written to", error);
}

}  // namespace ampc
