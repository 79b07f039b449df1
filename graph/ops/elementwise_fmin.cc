#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseFminDef() {
  return Elementwise("elementwise_fmin", "Out = min(X, Y), the operand that is no NaN if there is one; broadcast from 'axis'.")
      .Amp(kClear, "selects one of two values: exact in every type");
}

}  // namespace ampc::ops
