#include "runtime/compare/decisions.h"

#include "graph/ops/onnx/dialect.h"

namespace ampc {

std::set<std::string> OutputsThatDecide(const Program& program) {
  const std::set<const Var*> fetches(program.fetches.begin(), program.fetches.end());
  std::set<std::string> names;
  for (const auto& op : program.main().ops()) {
    if (onnx::NativeName(op->def()) != "sigmoid") continue;
    for (const Var* var : op->outputs()) {
      if (fetches.contains(var)) names.insert(var->exported());
    }
  }
  return names;
}

}  // namespace ampc
