#include "graph/formats/pir/pir_format.h"

#include "absl/strings/match.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/pir/export.h"
#include "graph/formats/pir/files.h"
#include "graph/formats/pir/import.h"

namespace ampc {
namespace {

bool Reads(const std::string& path, bool is_directory, absl::string_view) {
  return is_directory ? pir::IsPirFolder(path) : pir::IsPirPath(path);
}

bool Writes(const std::string& path, bool is_directory) { return !is_directory && pir::IsPirPath(path); }

absl::StatusOr<Program> Load(const std::string& path, const LoadOptions& options) {
  AMPC_ASSIGN_OR_RETURN(const pir::PirFiles files, pir::LocateForReading(path, options));
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const WeightSource> source, OpenWeightFile(files.model));
  FilesRead::Record(files.model);
  AMPC_ASSIGN_OR_RETURN(Program program, pir::ImportProgram(std::move(source), files));
  if (options.program_only) {
    const absl::StatusOr<pir::PirFiles> all = pir::LocateForReading(path, {.params = options.params});
    if (all.ok()) FilesRead::Record(all->params);
  }
  return program;
}

absl::Status Save(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set) {
  if (absl::EndsWith(path, "/")) AMPC_RETURN_IF_ERROR(set->MakeFolder(path));
  const pir::PirFiles files = pir::LocateForWriting(path, options);
  // An error that needs no file comes before one is touched.
  AMPC_ASSIGN_OR_RETURN(const std::string text, pir::ExportProgram(program));
  if (!files.params.empty()) AMPC_RETURN_IF_ERROR(pir::ExportParams(program, files, options, set));
  return set->Add(files.model, text);
}

}  // namespace

const ModelFormat& PirFormat() {
  static const ModelFormat format = {
      "pir", "x.json with x.pdiparams, or a folder with inference.json", /*takes_params=*/true, /*takes_folders=*/true, Reads, Writes, Load,
      Save};
  return format;
}

}  // namespace ampc
