#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/tensor_stream.h"
#include "graph/formats/pir/export.h"
#include "graph/formats/pir/origin.h"
#include "graph/formats/weight_stream.h"

namespace ampc::pir {
namespace {

// The header that the parameter had, unless its type changed.
std::string HeaderOf(const Var& var, const PirOrigin& origin) {
  const auto header = var.origin < 0 ? origin.headers.end() : origin.headers.find(var.origin);
  if (header == origin.headers.end()) return paddle::TensorHeader("", paddle::TensorDescBytes(var.type.dtype, var.type.dims));
  const bool same = header->second.type == var.type && var.weight != nullptr && var.weight->dtype == var.type.dtype;
  return paddle::TensorHeader(header->second.lod, same ? header->second.desc : paddle::TensorDescBytes(var.type.dtype, var.type.dims));
}

}  // namespace

bool IsPersistable(const Var& var) { return var.kind == VarKind::kParam; }

absl::Status ExportParams(const Program& program, const PirFiles& files, const SaveOptions& options, AtomicFileSet* set) {
  std::vector<const Var*> params;
  ForEachVar(program, [&](const Var& var) {
    if (IsPersistable(var)) params.push_back(&var);
  });
  std::sort(params.begin(), params.end(), [](const Var* a, const Var* b) { return a->name() < b->name(); });
  uint64_t total = 0;
  for (const Var* var : params) {
    AMPC_ASSIGN_OR_RETURN(const uint64_t bytes, StoredBytes(*var));
    total += bytes;
  }
  if (params.empty()) return absl::OkStatus();
  SaveProgress progress(options, total);
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file,
                        AtomicFileWriter::Create(files.params, {.no_sync = options.no_sync, .memory = options.memory}));
  for (const Var* var : params) {
    AMPC_RETURN_IF_ERROR(file.Append(HeaderOf(*var, *OriginOf(program))));
    AMPC_RETURN_IF_ERROR(AppendWeight(*var, options, &progress, [&file](absl::string_view bytes) { return file.Append(bytes); }));
  }
  return set->Add(std::move(file));
}

}  // namespace ampc::pir
