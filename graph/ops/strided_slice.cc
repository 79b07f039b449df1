#include "graph/ops/bounds.h"
#include "graph/ops/slice_util.h"

namespace ampc::ops {

OpDef StridedSliceDef() {
  return Slice(
             "strided_slice",
             "Every strides-th element of [starts, ends) along 'axes'; with a negative stride backwards, where the end -1 lies before the "
             "first element. The dimensions in decrease_axis, of size 1, are dropped.",
             true)
      .GradientOp({"Input StartsTensor EndsTensor StridesTensor StartsTensorList EndsTensorList StridesTensorList", "Out", "Input"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
