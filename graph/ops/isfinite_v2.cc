#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef IsfiniteV2Def() {
  return Logical("isfinite_v2", "Whether an element is neither infinite nor NaN.", false)
      .Amp(kNever, "computes bool; 65520 is finite in fp32 and inf in f16, so the operand does not become low for it");
}

}  // namespace ampc::ops
