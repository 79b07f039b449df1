#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef IsnanV2Def() {
  return Logical("isnan_v2", "Whether an element is NaN.", false)
      .Amp(kNever, "computes bool; 65520 is finite in fp32 and inf in f16, so the operand does not become low for it")
      .Alias("onnx", "IsNaN");
}

}  // namespace ampc::ops
