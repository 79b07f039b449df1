#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/tensor_stream.h"
#include "graph/formats/pir/importer.h"

namespace ampc::pir {

// The streams lie in the order of the parameters' names.
absl::Status Importer::AttachParams() {
  if (params_.empty() || files_.params.empty()) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<const WeightSource>> source = OpenWeightFile(files_.params);
  if (!source.ok()) {
    if (ExitCodeOf(source.status()) != ExitCode::kBadInput) return source.status();
    return Annotate(source.status(),
                    absl::StrCat(files_.model, " has ", params_.size(), " parameters, needs their file (--params FILE) or --program-only"));
  }
  std::sort(params_.begin(), params_.end(), [](const Var* a, const Var* b) { return a->name() < b->name(); });
  uint64_t offset = 0;
  for (size_t i = 0; i < params_.size(); ++i) {
    Var& var = *params_[i];
    if (offset == (*source)->bytes().size()) {
      return BadInputError(absl::StrCat(files_.params, ": holds ", i, " tensors, ", files_.model, " has ", params_.size(), " parameters"));
    }
    const std::string where = absl::StrCat((*source)->path(), ": parameter '", var.name(), "'");
    AMPC_ASSIGN_OR_RETURN(paddle::TensorStream stream, paddle::ScanTensor((*source)->bytes(), offset, where));
    const TensorType stored(stream.dtype, stream.dims);
    if (!Compatible(var.type, stored)) {
      return BadInputError(absl::StrCat(where, " is ", ToString(stored), ", ", files_.model, " declares ", ToString(var.type),
                                        ": the files do not belong together"));
    }
    var.type = stored;
    var.weight = std::make_unique<WeightRef>();
    var.weight->source = *source;
    var.weight->offset = stream.data;
    var.weight->bytes = stream.bytes;
    var.weight->dtype = stream.dtype;
    offset = stream.end();
    origin_->headers[var.origin] = {std::move(stream.lod), std::move(stream.desc), stored};
  }
  const uint64_t left = (*source)->bytes().size() - offset;
  if (left == 0) return absl::OkStatus();
  return BadInputError(
      absl::StrCat(files_.params, ": ", left, " bytes follow the last of the ", params_.size(), " parameters of ", files_.model));
}

}  // namespace ampc::pir
