#include "graph/converted.h"

namespace ampc {

bool IsConverted(const Program& program) {
  bool converted = false;
  ForEachVar(program, [&converted](const Var& var) { converted = converted || var.was != DType::kInvalid; });
  ForEachOp(program, [&converted](const Op& op) { converted = converted || op.marks.amp == AmpMark::kInserted || !op.marks.was.empty(); });
  return converted;
}

}  // namespace ampc
