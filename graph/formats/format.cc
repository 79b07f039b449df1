#include "graph/formats/format.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/memory_files.h"
#include "graph/base/status_macros.h"
#include "graph/formats/ampc/ampc_format.h"
#include "graph/formats/files_read.h"
#include "graph/formats/foreign.h"
#include "graph/formats/onnx/onnx_format.h"
#include "graph/formats/paddle/paddle_format.h"
#include "graph/formats/pir/pir_format.h"
#include "graph/formats/prog/prog_format.h"

namespace ampc {
namespace {

constexpr size_t kHeadBytes = 64;

const std::vector<const ModelFormat*>& Formats() {
#define AMPC_FORMAT(Name) &Name##Format(),
  static const std::vector<const ModelFormat*> formats = {
#include "graph/formats/all_formats.inc"
  };
#undef AMPC_FORMAT
  return formats;
}

std::string Docs() {
  return absl::StrJoin(Formats(), "; ", [](std::string* out, const ModelFormat* f) { absl::StrAppend(out, f->name, ": ", f->doc); });
}

bool IsDirectory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// A model whose program a link names was saved where the link leads.
absl::Status FinishInterruptedSave(const std::string& path) {
  if (IsDirectory(path)) return FinishSavesIn(path);
  std::error_code error;
  const std::filesystem::path link = std::filesystem::read_symlink(path, error);
  return FinishSave(error ? path : (std::filesystem::path(path).parent_path() / link).string());
}

void RecordFiles(const std::string& path, const Program& program) {
  FilesRead::Record(path);
  const WeightSource* last = nullptr;
  ForEachVar(program, [&last](const Var& var) {
    if (var.weight == nullptr || var.weight->source.get() == last) return;
    last = var.weight->source.get();
    if (last != nullptr && !last->path().empty()) FilesRead::Record(last->path());
  });
}

absl::Status UnknownFormat(const std::string& path, absl::Status (*error)(absl::string_view), absl::string_view what) {
  return error(absl::StrCat(path, ": ", what, " (", Docs(), ")"));
}

bool NamesDirectory(const std::string& path) { return IsDirectory(path) || (!path.empty() && path.back() == '/'); }

absl::Status CheckParams(const ModelFormat& format, const std::string& path, const std::string& params) {
  if (params.empty() || format.takes_params) return absl::OkStatus();
  return UsageError(absl::StrCat(path, ": found '", params, "' for the weights, needed none: a model of the format ", format.name,
                                 " has them where it says itself"));
}

}  // namespace

absl::Status CheckSave(const std::string& path, const SaveOptions& options) {
  for (const ModelFormat* format : Formats()) {
    if (format->writes(path, NamesDirectory(path))) return CheckParams(*format, path, options.params);
  }
  return UnknownFormat(path, UsageError, "the name says no known format");
}

absl::StatusOr<Program> LoadModel(const std::string& path, const LoadOptions& options) {
  const bool in_memory = MemoryFiles::FindInScope(path) != nullptr;
  if (!in_memory) AMPC_RETURN_IF_ERROR(FinishInterruptedSave(path));
  std::error_code ignored;
  if (!in_memory && !std::filesystem::exists(path, ignored)) return BadInputError(absl::StrCat(path, ": no such file", NearFile(path)));
  const bool is_directory = !in_memory && IsDirectory(path);
  std::string head;
  if (!is_directory) {
    AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
    head = std::string(file.text().substr(0, kHeadBytes));
  }
  const std::string foreign = ForeignFile(path, is_directory, head);
  for (const ModelFormat* format : Formats()) {
    if (!format->reads(path, is_directory, head)) continue;
    AMPC_RETURN_IF_ERROR(CheckParams(*format, path, options.params));
    absl::StatusOr<Program> loaded = format->load(path, options);
    // A name may promise what the content is not.
    if (ExitCodeOf(loaded.status()) == ExitCode::kBadInput && !foreign.empty()) return BadInputError(absl::StrCat(path, " ", foreign));
    if (!loaded.ok()) return loaded.status();
    Program program = *std::move(loaded);
    RecordFiles(path, program);
    return program;
  }
  if (!foreign.empty()) return BadInputError(absl::StrCat(path, " ", foreign));
  return UnknownFormat(path, BadInputError, "not a model file of a known format");
}

absl::Status SaveModel(const Program& program, const std::string& path, const SaveOptions& options) {
  AtomicFileSet set({.no_sync = options.no_sync, .memory = options.memory});
  AMPC_RETURN_IF_ERROR(AddModel(program, path, options, &set));
  return set.Commit();
}

absl::Status AddModel(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set) {
  const bool is_directory = IsDirectory(path) || (!path.empty() && path.back() == '/');
  AMPC_RETURN_IF_ERROR(CheckSave(path, options));
  for (const ModelFormat* format : Formats()) {
    // A folder says no format: it is the program's own, if that has folders.
    const bool own = is_directory && format->takes_folders && program.origin != nullptr && program.origin->format() == format->name;
    if (own) return format->save(program, path, options, set);
  }
  for (const ModelFormat* format : Formats()) {
    if (format->writes(path, is_directory)) return format->save(program, path, options, set);
  }
  return UnknownFormat(path, UsageError, "the name says no known format");
}

}  // namespace ampc
