#include "kernels/cpu/loss/loss_rows.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {

absl::Status ReadLossRows(const SpecView& view, const TensorDesc& x, int64_t axis, LossRows* rows) {
  const TensorDesc& label = view.InDesc("Label");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  axis = FromEnd(axis, rank);
  if (axis < 0 || axis >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
  static_cast<AxisSplit&>(*rows) = SplitAt(x.dims, axis);
  rows->name = Describe(view.op());
  rows->label = view.In("Label");
  rows->soft = view.op().GetBool("soft_label");
  rows->ignore = view.op().GetInt("ignore_index", -100);
  rows->label_type = StorageType(label.dtype);
  if (rows->soft ? rows->label_type != StorageType(x.dtype) : !IsInteger(label.dtype)) return view.Internal("Label has the wrong type");
  if (label.NumElements() != rows->outer * rows->inner * (rows->soft ? rows->size : 1)) return view.Internal("Label has the wrong size");
  return absl::OkStatus();
}

absl::Status CheckLabels(const LossRows& rows, const void* labels) {
  for (int64_t r = 0; r < rows.outer * rows.inner && !rows.soft; ++r) {
    const int64_t label = ReadAsInt(labels, rows.label_type, r);
    if (label != rows.ignore && (label < 0 || label >= rows.size)) {
      return UsageError(
          absl::StrCat(rows.name, ": label ", r, " is ", label, ", needs 0 to ", rows.size - 1, " or ignore_index ", rows.ignore));
    }
  }
  return absl::OkStatus();
}

}  // namespace ampc
