#include "graph/ops/bounds.h"
#include "graph/ops/slice_util.h"

namespace ampc::ops {

OpDef SliceDef() {
  return Slice("slice",
               "Elements [starts, ends) along 'axes', with Python's negative bounds; the dimensions in decrease_axis, of size 1, are "
               "dropped.",
               false)
      .GradientOp({"Input StartsTensor EndsTensor StartsTensorList EndsTensorList", "Out", "Input"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
