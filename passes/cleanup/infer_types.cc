#include "passes/cleanup/infer_types.h"

#include "graph/base/status_macros.h"
#include "graph/ops/onnx/subgraph.h"
#include "graph/verify.h"
#include "passes/make_pass.h"

namespace ampc {

PassInfo InferTypesPass() {
  return SimplePass("infer-types", "fills the types that importers leave open",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return onnx::InferBlock(program.main()); });
}

PassInfo VerifyPass() {
  return SimplePass("verify", "checks that the program is well formed", [](PassContext&, Program& program) -> absl::StatusOr<bool> {
    AMPC_RETURN_IF_ERROR(Verify(program));
    return false;
  });
}

}  // namespace ampc
