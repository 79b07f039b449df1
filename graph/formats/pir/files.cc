#include "graph/formats/pir/files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc::pir {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kModelSuffix = ".json";
constexpr absl::string_view kParamsSuffix = ".pdiparams";

bool IsDirectory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string ParamsBeside(const std::string& model) {
  const absl::string_view stem =
      absl::EndsWith(model, kModelSuffix) ? absl::string_view(model).substr(0, model.size() - kModelSuffix.size()) : model;
  return absl::StrCat(stem, kParamsSuffix);
}

// The programs in a folder: inference.json, or what has parameters beside it (other JSON files lie around, too). None where Paddle 2 has
// one.
std::vector<std::string> ProgramsIn(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().string(), name = it->path().filename().string();
    if (absl::EndsWith(name, ".pdmodel") || name == "__model__") return {};
    std::error_code ignored;
    if (name == "inference.json" || (absl::EndsWith(name, kModelSuffix) && fs::exists(ParamsBeside(path), ignored))) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool IsPirPath(const std::string& path) { return absl::EndsWith(path, kModelSuffix); }
bool IsPirFolder(const std::string& path) { return !ProgramsIn(path).empty(); }

absl::StatusOr<PirFiles> LocateForReading(const std::string& path, const LoadOptions& options) {
  PirFiles files;
  files.model = path;
  if (IsDirectory(path)) {
    const std::vector<std::string> found = ProgramsIn(path);
    if (found.empty()) return BadInputError(absl::StrCat(path, ": a folder without inference.json"));
    const auto usual =
        std::find_if(found.begin(), found.end(), [](const std::string& p) { return fs::path(p).filename() == "inference.json"; });
    if (usual == found.end() && found.size() > 1) {
      return BadInputError(absl::StrCat(path, ": a folder with ", found.size(), " programs, name one of them: ", found[0]));
    }
    files.model = usual == found.end() ? found[0] : *usual;
  }
  if (options.program_only) return files;
  files.params = options.params.empty() ? ParamsBeside(files.model) : options.params;
  return files;
}

PirFiles LocateForWriting(const std::string& path, const SaveOptions& options) {
  PirFiles files;
  files.model = absl::EndsWith(path, "/") || IsDirectory(path) ? (fs::path(path) / "inference.json").string() : path;
  if (!options.program_only) files.params = options.params.empty() ? ParamsBeside(files.model) : options.params;
  return files;
}

}  // namespace ampc::pir
