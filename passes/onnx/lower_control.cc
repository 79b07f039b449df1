#include "passes/onnx/lower_control.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc::onnx {

bool IsControl(const Op& op) { return DefOf(op.def()) != nullptr && !op.SubBlocks().empty(); }

absl::StatusOr<LoweredControl> LowerControl(std::unique_ptr<Op> op, Block&) {
  return UnsupportedError(absl::StrCat(Describe(*op), ": subgraphs cannot be executed"));
}

}  // namespace ampc::onnx
