#include "graph/formats/ampc/ampc_format.h"

#include <filesystem>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"
#include "graph/formats/ampc/encode.h"
#include "graph/formats/files_read.h"
#include "graph/formats/weight_file.h"

namespace ampc {
namespace {

constexpr absl::string_view kSuffix = ".ampc";

bool Reads(const std::string& path, bool is_directory, absl::string_view /*head*/) {
  return !is_directory && absl::EndsWith(path, kSuffix);
}
bool Writes(const std::string& path, bool is_directory) { return !is_directory && absl::EndsWith(path, kSuffix); }

bool HasUnknown(const proto::Program& message) {
  if (!message.unknown_fields().empty()) return true;
  for (const proto::Block& block : message.blocks()) {
    for (const proto::Var& var : block.vars()) {
      if (!var.unknown_fields().empty()) return true;
    }
    for (const proto::Op& op : block.ops()) {
      if (!op.unknown_fields().empty()) return true;
    }
  }
  return false;
}

std::string PathOf(const proto::WeightFile& weights, const std::string& program_path) {
  return (std::filesystem::path(program_path).parent_path() / weights.file()).string();
}

absl::StatusOr<WeightFile> OpenWeights(const proto::WeightFile& from, const std::string& program_path) {
  if (from.file().empty() || from.file().find('/') != std::string::npos) {
    return BadInputError(absl::StrCat(program_path, ": weight file '", from.file(), "', needs a file name in the program's folder"));
  }
  const std::string path = PathOf(from, program_path);
  absl::StatusOr<WeightFile> file = WeightFile::Open(path);
  if (!file.ok()) return Annotate(file.status(), program_path);
  if (file->size() != from.bytes() || file->header_hash() != from.header_hash()) {
    return BadInputError(
        absl::StrCat(path, ": not the weight file that ", program_path, " was saved with: the files do not belong together"));
  }
  return file;
}

absl::Status AttachWeights(const WeightFile& file, const std::vector<std::string>& keys, const std::string& path, Program* program) {
  absl::Status status;
  for (int b = 0; b < program->num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program->block(b).vars()) {
      const std::string& key = keys[var->id()];
      if (key.empty()) continue;
      AMPC_ASSIGN_OR_RETURN(WeightRef ref, file.Find(key));
      const std::vector<int64_t>& dims = *file.Dims(key);
      if (ref.dtype != var->type.dtype || !absl::c_equal(dims, var->type.dims)) {
        return BadInputError(absl::StrCat(file.path(), ": tensor '", key, "' is not ", ToString(var->type), " as ", path, " declares"));
      }
      var->weight = std::make_unique<WeightRef>(std::move(ref));
    }
  }
  return status;
}

absl::StatusOr<Program> Load(const std::string& path, const LoadOptions& options) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  auto origin = std::make_shared<AmpcOrigin>();
  proto::Program& message = origin->message;
  const bool fits = file.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  if (!fits || !message.ParsePartialFromArray(file.text().data(), static_cast<int>(file.size())) || !message.IsInitialized()) {
    return BadInputError(absl::StrCat(path, ": not an ampc program, or damaged (", file.size(), " bytes)"));
  }
  AMPC_ASSIGN_OR_RETURN(DecodedProgram decoded, DecodeProgram(message, path));
  if (message.has_weights() && !options.program_only) {
    AMPC_ASSIGN_OR_RETURN(const WeightFile weights, OpenWeights(message.weights(), path));
    AMPC_RETURN_IF_ERROR(AttachWeights(weights, decoded.keys, path, &decoded.program));
  }
  if (message.has_weights() && options.program_only) FilesRead::Record(PathOf(message.weights(), path));
  // Only a file from a newer version has something to remember.
  if (HasUnknown(message)) decoded.program.origin = std::move(origin);
  return std::move(decoded.program);
}

absl::Status Save(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set) {
  const std::vector<std::string> keys = options.program_only ? std::vector<std::string>(program.num_var_ids()) : WeightKeys(program);
  proto::Program message = EncodeProgram(program, keys);
  if (!options.program_only) {
    const std::string weights = WeightFileBeside(path);
    AMPC_ASSIGN_OR_RETURN(const WrittenWeights written, WriteWeightFile(program, keys, weights, options, set));
    if (written.size > 0) {
      message.mutable_weights()->set_file(std::filesystem::path(weights).filename().string());
      message.mutable_weights()->set_bytes(written.size);
      message.mutable_weights()->set_header_hash(written.header_hash);
    }
  }
  if (message.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return UnsupportedError(absl::StrCat(path, ": a program of more than 2 GiB"));
  }
  return set->Add(path, message.SerializeAsString());
}

}  // namespace

const ModelFormat& AmpcFormat() {
  static const ModelFormat format = {
      "ampc", "x.ampc with x.safetensors", /*takes_params=*/false, /*takes_folders=*/false, Reads, Writes, Load, Save};
  return format;
}

}  // namespace ampc
