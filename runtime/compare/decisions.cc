#include "runtime/compare/decisions.h"

#include <algorithm>

#include "graph/ops/onnx/dialect.h"

namespace ampc {

std::set<std::string> OutputsThatDecide(const Program& program) {
  std::set<std::string> names;
  for (const auto& op : program.main().ops()) {
    if (onnx::NativeName(op->def()) != "sigmoid") continue;
    for (const Var* var : op->outputs()) {
      if (std::find(program.fetches.begin(), program.fetches.end(), var) != program.fetches.end()) names.insert(var->exported());
    }
  }
  return names;
}

}  // namespace ampc
