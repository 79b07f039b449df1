#include "kernels/spec/index/sort_spec.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"

namespace ampc {

absl::StatusOr<SortSpec> ReadSort(const SpecView& view) {
  const TensorDesc &x = view.InDesc("X"), &out = view.OutDesc("Out");
  AMPC_RETURN_IF_ERROR(view.CheckType<Numbers>(x.dtype));
  const std::string& type = view.op().type();
  SortSpec s;
  s.descending = type == "argsort" ? view.op().GetBool("descending") : type == "top_k" || view.op().GetBool("largest");
  int64_t axis = type == "top_k" ? -1 : view.op().GetInt("axis");
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  if (rank > 0) {
    axis = FromEnd(axis, rank);
    if (axis < 0 || axis >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
    s.split = SplitAt(x.dims, axis);
    s.kept = out.dims[axis];
  }
  if (s.kept > s.split.size) return view.Internal("the results are longer than the operand");
  return s;
}

}  // namespace ampc
