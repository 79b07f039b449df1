#include "graph/ops/arg_util.h"

namespace ampc::ops {

OpDef ArgMinDef() {
  return ArgExtreme("arg_min", "Index of the first smallest element along 'axis', or in the flattened X; NaN is passed over.")
      .Alias("onnx", "ArgMin");
}

}  // namespace ampc::ops
