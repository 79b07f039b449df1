#include "graph/ops/arg_util.h"

namespace ampc::ops {

OpDef ArgMaxDef() {
  return ArgExtreme("arg_max", "Index of the first largest element along 'axis', or in the flattened X; NaN is passed over.")
      .Alias("onnx", "ArgMax");
}

}  // namespace ampc::ops
