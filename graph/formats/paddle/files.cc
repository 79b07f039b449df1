#include "graph/formats/paddle/files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::paddle {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kModelSuffix = ".pdmodel";
constexpr absl::string_view kParamsSuffix = ".pdiparams";

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool IsDirectory(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string BaseName(const std::string& path) { return fs::path(path).filename().string(); }

std::string Folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The program in a folder.
absl::StatusOr<std::string> FindModel(const std::string& folder) {
  for (const char* name : {"__model__", "inference.pdmodel", "model.pdmodel"}) {
    if (Exists(fs::path(folder) / name)) return (fs::path(folder) / name).string();
  }
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    if (absl::EndsWith(path, kModelSuffix)) found.push_back(path);
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) return BadInputError(absl::StrCat(folder, ": a folder without __model__, x.pdmodel or inference.json"));
  std::sort(found.begin(), found.end());
  return BadInputError(absl::StrCat(folder, ": a folder with ", found.size(), " programs, name one of them: ", found[0]));
}

void FindParams(PaddleFiles* files) {
  const std::string folder = Folder(files->model);
  files->layout = ParamsLayout::kCombined;
  if (absl::EndsWith(files->model, kModelSuffix)) {
    files->params = absl::StrCat(files->model.substr(0, files->model.size() - kModelSuffix.size()), kParamsSuffix);
    return;
  }
  for (const char* name : {"__params__", "params"}) {
    const fs::path file = fs::path(folder) / name;
    if (!Exists(file) || IsDirectory(file)) continue;
    files->params = file.string();
    return;
  }
  files->layout = ParamsLayout::kSeparate;
  files->params = folder;
}

}  // namespace

bool IsPaddlePath(const std::string& path) { return absl::EndsWith(path, kModelSuffix) || BaseName(path) == "__model__"; }

absl::StatusOr<PaddleFiles> LocateForReading(const std::string& path, const LoadOptions& options) {
  PaddleFiles files;
  files.model = path;
  if (IsDirectory(path)) {
    AMPC_ASSIGN_OR_RETURN(files.model, FindModel(path));
  }
  if (options.program_only) return files;
  if (options.params.empty()) {
    FindParams(&files);
    return files;
  }
  files.params = options.params;
  files.layout = IsDirectory(options.params) ? ParamsLayout::kSeparate : ParamsLayout::kCombined;
  return files;
}

PaddleFiles LocateForWriting(const std::string& path, const SaveOptions& options, bool separate) {
  PaddleFiles files;
  files.model = path;
  files.layout = ParamsLayout::kCombined;
  if (absl::EndsWith(path, "/") || IsDirectory(path)) {
    files.model = (fs::path(path) / (separate ? "__model__" : "inference.pdmodel")).string();
    if (separate) {
      files.layout = ParamsLayout::kSeparate;
      files.params = path;
    }
  }
  if (!options.params.empty()) {
    files.params = options.params;
    files.layout = IsDirectory(options.params) ? ParamsLayout::kSeparate : ParamsLayout::kCombined;
  } else if (files.params.empty()) {
    files.params = absl::EndsWith(files.model, kModelSuffix)
                       ? absl::StrCat(files.model.substr(0, files.model.size() - kModelSuffix.size()), kParamsSuffix)
                       : (fs::path(Folder(files.model)) / "__params__").string();
  }
  if (options.program_only) files.layout = ParamsLayout::kNone;
  return files;
}

absl::StatusOr<std::string> SeparateFile(const std::string& folder, absl::string_view var) {
  const std::vector<absl::string_view> parts = absl::StrSplit(var, '/');
  const bool leaves = std::any_of(parts.begin(), parts.end(), [](absl::string_view p) { return p.empty() || p == "." || p == ".."; });
  if (leaves || var.find('\0') != absl::string_view::npos) {
    return BadInputError(absl::StrCat("parameter '", var, "' cannot be a file name in the folder ", folder));
  }
  return (fs::path(folder) / std::string(var)).string();
}

}  // namespace ampc::paddle
