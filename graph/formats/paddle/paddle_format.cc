#include "graph/formats/paddle/paddle_format.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/paddle/export.h"
#include "graph/formats/paddle/files.h"
#include "graph/formats/paddle/import.h"

namespace ampc {
namespace {

// A program starts with field 1 (blocks), whose content starts with field 1 (idx) = 0.
bool LooksLikeProgram(absl::string_view head) {
  if (head.size() < 4 || head[0] != 0x0a) return false;
  size_t i = 1;
  while (i < head.size() && (head[i] & 0x80) != 0) ++i;
  return i + 2 < head.size() && head[i + 1] == 0x08 && head[i + 2] == 0x00;
}

bool Reads(const std::string& path, bool is_directory, absl::string_view head) {
  if (is_directory || paddle::IsPaddlePath(path)) return true;
  return !std::filesystem::path(path).has_extension() && LooksLikeProgram(head);
}

bool Writes(const std::string& path, bool is_directory) { return is_directory || paddle::IsPaddlePath(path); }

// Of a program that is read without its weights.
void RecordParams(const Program& program, const std::string& path, const LoadOptions& options) {
  const absl::StatusOr<paddle::PaddleFiles> files = paddle::LocateForReading(path, {.params = options.params});
  if (!files.ok()) return;
  if (files->layout == paddle::ParamsLayout::kCombined) return FilesRead::Record(files->params);
  ForEachVar(program, [&files](const Var& var) {
    if (var.kind != VarKind::kParam && var.kind != VarKind::kState) return;
    const absl::StatusOr<std::string> file = paddle::SeparateFile(files->params, var.exported());
    if (file.ok()) FilesRead::Record(*file);
  });
}

absl::StatusOr<Program> Load(const std::string& path, const LoadOptions& options) {
  AMPC_ASSIGN_OR_RETURN(const paddle::PaddleFiles files, paddle::LocateForReading(path, options));
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const WeightSource> source, OpenWeightFile(files.model));
  FilesRead::Record(files.model);
  AMPC_ASSIGN_OR_RETURN(Program program, paddle::ImportProgram(std::move(source), files));
  if (options.program_only) RecordParams(program, path, options);
  return program;
}

absl::Status Save(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set) {
  const paddle::PaddleOrigin* origin = paddle::OriginOf(program);
  const bool separate = origin != nullptr && origin->separate_files;
  if (absl::EndsWith(path, "/")) AMPC_RETURN_IF_ERROR(set->MakeFolder(path));
  const paddle::PaddleFiles files = paddle::LocateForWriting(path, options, separate);
  const paddle::ExportNames names(program);
  // An error that needs no file comes before one is touched.
  AMPC_ASSIGN_OR_RETURN(const std::string bytes, paddle::ExportProgram(program, names));
  if (files.layout != paddle::ParamsLayout::kNone) AMPC_RETURN_IF_ERROR(paddle::ExportParams(program, names, files, options, set));
  return set->Add(files.model, bytes);
}

}  // namespace

const ModelFormat& PaddleFormat() {
  static const ModelFormat format = {"paddle",
                                     "x.pdmodel with x.pdiparams, or a folder with __model__",
                                     /*takes_params=*/true,
                                     /*takes_folders=*/true,
                                     Reads,
                                     Writes,
                                     Load,
                                     Save};
  return format;
}

}  // namespace ampc
