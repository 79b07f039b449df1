#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/importer.h"
#include "graph/formats/paddle/tensor_stream.h"

namespace ampc::paddle {
namespace {

// Types that belong together: the file's shape is a case of the declared one.
bool SameShape(const TensorType& declared, const Dims& dims) { return Compatible(declared, TensorType(declared.dtype, dims)); }

std::string Shape(const Dims& dims) { return absl::StrCat("[", absl::StrJoin(dims, ", "), "]"); }

}  // namespace

// Checks that the stream is the value of this variable, and refers the variable to it.
absl::Status Importer::AttachWeight(const Storage& storage, std::shared_ptr<const WeightSource> source, uint64_t* offset) {
  const std::string where = absl::StrCat(source->path(), ": parameter '", storage.name, "'");
  AMPC_ASSIGN_OR_RETURN(TensorStream stream, ScanTensor(source->bytes(), *offset, where));
  Var& var = *storage.current;
  const DType declared = var.type.dtype;
  if (!SameShape(var.type, stream.dims)) {
    return BadInputError(absl::StrCat(where, " has shape ", Shape(stream.dims), ", ", files_.model, " declares ", ToString(var.type),
                                      ": the files do not belong together"));
  }
  // A program that was rewritten before its parameters were cast declares the low type over float32 values.
  const bool uncast = IsLowPrecision(declared) && stream.dtype == DType::kF32;
  if (declared != DType::kInvalid && stream.dtype != declared && !uncast) {
    return BadInputError(absl::StrCat(where, " is ", LongName(stream.dtype), ", ", files_.model, " declares ", LongName(declared),
                                      ": the files do not belong together"));
  }
  var.type.has_rank = true;
  var.type.dims = stream.dims;
  var.type.dtype = uncast ? declared : stream.dtype;
  var.weight = std::make_unique<WeightRef>();
  var.weight->source = std::move(source);
  var.weight->offset = stream.data;
  var.weight->bytes = stream.bytes;
  var.weight->dtype = stream.dtype;
  if (uncast) var.weight->transforms.push_back({declared, OnOverflow::kKeep, OnTiny::kSubnormal});
  *offset = stream.end();
  origin_->headers[var.origin] = {std::move(stream.lod), std::move(stream.desc)};
  return absl::OkStatus();
}

absl::Status Importer::AttachCombined(const std::vector<Storage*>& params) {
  absl::StatusOr<std::shared_ptr<const WeightSource>> source = OpenWeightFile(files_.params);
  if (!source.ok()) {
    if (ExitCodeOf(source.status()) != ExitCode::kBadInput) return source.status();
    return Annotate(source.status(),
                    absl::StrCat(files_.model, " has ", params.size(), " parameters, needs their file (--params FILE) or --program-only"));
  }
  uint64_t offset = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    if (offset == (*source)->bytes().size()) {
      return BadInputError(absl::StrCat(files_.params, ": holds ", i, " tensors, ", files_.model, " has ", params.size(), " parameters"));
    }
    AMPC_RETURN_IF_ERROR(AttachWeight(*params[i], *source, &offset));
  }
  const uint64_t left = (*source)->bytes().size() - offset;
  if (left == 0) return absl::OkStatus();
  return BadInputError(
      absl::StrCat(files_.params, ": ", left, " bytes follow the last of the ", params.size(), " parameters of ", files_.model));
}

absl::Status Importer::AttachSeparate(const std::vector<Storage*>& params) {
  for (Storage* param : params) {
    AMPC_ASSIGN_OR_RETURN(const std::string path, SeparateFile(files_.params, param->name));
    absl::StatusOr<std::shared_ptr<const WeightSource>> source = OpenWeightFile(path);
    if (!source.ok()) return Annotate(source.status(), absl::StrCat(files_.model, ": parameter '", param->name, "'"));
    uint64_t offset = 0;
    AMPC_RETURN_IF_ERROR(AttachWeight(*param, *source, &offset));
    if (offset == (*source)->bytes().size()) continue;
    return BadInputError(absl::StrCat(path, ": ", (*source)->bytes().size() - offset, " bytes follow the parameter"));
  }
  return absl::OkStatus();
}

absl::Status Importer::AttachParams() {
  std::vector<Storage*> params;
  for (Storage& storage : scopes_.all()) {
    if (storage.persistable && storage.IsTensor()) params.push_back(&storage);
  }
  if (params.empty() || files_.layout == ParamsLayout::kNone) return absl::OkStatus();
  std::sort(params.begin(), params.end(), [](const Storage* a, const Storage* b) { return a->name < b->name; });
  for (size_t i = 1; i < params.size(); ++i) {
    if (params[i]->name == params[i - 1]->name) return Error(absl::StrCat("two blocks declare a parameter '", params[i]->name, "'"));
  }
  return files_.layout == ParamsLayout::kCombined ? AttachCombined(params) : AttachSeparate(params);
}

}  // namespace ampc::paddle
