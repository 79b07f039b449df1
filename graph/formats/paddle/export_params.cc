#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/export.h"
#include "graph/formats/paddle/tensor_stream.h"
#include "graph/formats/weight_stream.h"

namespace ampc::paddle {
namespace {

namespace fs = std::filesystem;

// The header that the parameter had, unless its type changed.
std::string HeaderOf(const Var& var, const PaddleOrigin* origin) {
  const std::string desc = TensorDescBytes(var.type.dtype, var.type.dims);
  if (origin == nullptr || var.origin < 0) return TensorHeader("", desc);
  const auto header = origin->headers.find(var.origin);
  if (header == origin->headers.end()) return TensorHeader("", desc);
  const TensorType& then = origin->values[var.origin].type;
  const bool same =
      then.dtype == var.type.dtype && then.dims == var.type.dims && var.weight != nullptr && var.weight->dtype == var.type.dtype;
  return TensorHeader(header->second.lod, same ? header->second.desc : desc);
}

absl::Status AppendParam(const Var& var, const PaddleOrigin* origin, const SaveOptions& options, SaveProgress* progress,
                         AtomicFileWriter* file) {
  AMPC_RETURN_IF_ERROR(file->Append(HeaderOf(var, origin)));
  return AppendWeight(var, options, progress, [file](absl::string_view bytes) { return file->Append(bytes); });
}

}  // namespace

absl::Status ExportParams(const Program& program, const ExportNames& names, const PaddleFiles& files, const SaveOptions& options,
                          AtomicFileSet* set) {
  const PaddleOrigin* origin = OriginOf(program);
  std::vector<const Var*> params;
  ForEachVar(program, [&](const Var& var) {
    if (IsPersistable(var, origin) && var.type.kind == TypeKind::kTensor) params.push_back(&var);
  });
  std::sort(params.begin(), params.end(), [&names](const Var* a, const Var* b) { return names.Of(*a) < names.Of(*b); });
  uint64_t total = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    if (i > 0 && names.Of(*params[i]) == names.Of(*params[i - 1])) {
      return UnsupportedError(
          absl::StrCat("two parameters are named '", names.Of(*params[i]), "', a Paddle parameter file needs different names"));
    }
    AMPC_ASSIGN_OR_RETURN(const uint64_t bytes, StoredBytes(*params[i]));
    total += bytes;
  }
  if (params.empty()) return absl::OkStatus();
  SaveProgress progress(options, total);
  const AtomicFileWriter::Options writer_options{.no_sync = options.no_sync, .memory = options.memory};
  if (files.layout == ParamsLayout::kSeparate) {
    for (const Var* var : params) {
      AMPC_ASSIGN_OR_RETURN(const std::string path, SeparateFile(files.params, names.Of(*var)));
      if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) AMPC_RETURN_IF_ERROR(set->MakeFolder(folder.string()));
      AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path, writer_options));
      AMPC_RETURN_IF_ERROR(AppendParam(*var, origin, options, &progress, &file));
      AMPC_RETURN_IF_ERROR(set->Add(std::move(file)));
    }
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(files.params, writer_options));
  for (const Var* var : params) AMPC_RETURN_IF_ERROR(AppendParam(*var, origin, options, &progress, &file));
  return set->Add(std::move(file));
}

}  // namespace ampc::paddle
