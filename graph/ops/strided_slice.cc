#include "graph/ops/slice_util.h"

namespace ampc::ops {

OpDef StridedSliceDef() {
  return Slice(
             "strided_slice",
             "Every strides-th element of [starts, ends) along 'axes'; with a negative stride backwards, where the end -1 lies before the "
             "first element. The dimensions in decrease_axis, of size 1, are dropped.",
             true)
      .Gradient("strided_slice_grad");
}

}  // namespace ampc::ops
