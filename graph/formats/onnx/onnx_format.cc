#include "graph/formats/onnx/onnx_format.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/export.h"
#include "graph/formats/onnx/import.h"

namespace ampc {
namespace {

// A model starts with field 1 (ir_version), a small number, and goes on with the producer, the graph or the operator sets.
bool LooksLikeModel(absl::string_view head) {
  return head.size() > 3 && head[0] == 0x08 && head[1] > 0 && head[1] < 32 &&
         (head[2] == 0x12 || head[2] == 0x1a || head[2] == 0x3a || head[2] == 0x42);
}

bool IsOnnxPath(const std::string& path) { return absl::EndsWith(path, ".onnx"); }

bool Reads(const std::string& path, bool is_directory, absl::string_view head) {
  if (is_directory) return false;
  return IsOnnxPath(path) || (!std::filesystem::path(path).has_extension() && LooksLikeModel(head));
}

bool Writes(const std::string& path, bool is_directory) { return !is_directory && IsOnnxPath(path); }

absl::StatusOr<Program> Load(const std::string& path, const LoadOptions& options) {
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const WeightSource> source, OpenWeightFile(path));
  return onnx::ImportModel(std::move(source), path, options.program_only);
}

absl::Status Save(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set) {
  return onnx::ExportModel(program, path, options, set);
}

}  // namespace

const ModelFormat& OnnxFormat() {
  static const ModelFormat format = {"onnx",
                                     "x.onnx, with its weights or with files of external data beside it",
                                     /*takes_params=*/false,
                                     /*takes_folders=*/false,
                                     Reads,
                                     Writes,
                                     Load,
                                     Save};
  return format;
}

}  // namespace ampc
