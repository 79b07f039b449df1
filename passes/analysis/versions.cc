#include "passes/analysis/versions.h"

namespace ampc {

void Versions::After(const Op& op) {
  for (const Var* var : op.outputs()) Wrote(*var);
  // Params and states that a body writes are not listed by its control op.
  for (int index : op.SubBlocks()) {
    for (const std::unique_ptr<Op>& inner : program_.block(index).ops()) After(*inner);
  }
}

}  // namespace ampc
