#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SignDef() {
  return Unary("sign", "-1, 0 or 1: the sign of X; NaN stays NaN.")
      .Alias("onnx", "Sign")
      .Gradient("scale scale=0")
      .Amp(kWidest, "a value below 2^-25 is 0 in f16 and has no sign: the operand does not become low for it; exact on what it gets")
      .BoundsAre(&Between<-1, 1>);
}

}  // namespace ampc::ops
