#include "kernels/cuda/reduce/shape_of.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"

namespace ampc::cuda {

absl::StatusOr<Loops> LoopsOf(const SpecView& view, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  if (sizes.size() > static_cast<size_t>(kMaxLoops)) {
    return view.Unsupported(absl::StrCat("the device's kernel takes ", kMaxLoops, " nested loops, this needs ", sizes.size()));
  }
  Loops loops;
  loops.rank = static_cast<int>(sizes.size());
  for (int d = 0; d < loops.rank; ++d) {
    loops.size[d] = sizes[d];
    loops.stride[d] = strides[d];
  }
  return loops;
}

absl::StatusOr<ReduceShape> ShapeOf(const SpecView& view, const ReducePlan& plan) {
  ReduceShape shape;
  AMPC_ASSIGN_OR_RETURN(shape.kept, LoopsOf(view, plan.kept, plan.kept_stride));
  AMPC_ASSIGN_OR_RETURN(shape.reduced, LoopsOf(view, plan.reduced, plan.reduced_stride));
  shape.rows = plan.rows;
  shape.columns = plan.columns;
  FinishShape(&shape);
  return shape;
}

}  // namespace ampc::cuda
