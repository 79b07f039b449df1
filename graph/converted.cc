#include "graph/converted.h"

#include <memory>
#include <utility>

namespace ampc {

bool IsConverted(const Program& program) {
  bool converted = false;
  ForEachVar(program, [&converted](const Var& var) { converted = converted || var.was != DType::kInvalid; });
  ForEachOp(program, [&converted](const Op& op) { converted = converted || op.marks.amp == AmpMark::kInserted || !op.marks.was.empty(); });
  return converted;
}

absl::string_view ConversionOptions(const Program& program) {
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    if (op->marks.amp == AmpMark::kNone && !op->marks.amp_reason.empty()) return op->marks.amp_reason;
  }
  return "";
}

void SetConversionOptions(std::string text, Program& program) {
  Op* first = nullptr;
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    if (op->marks.amp != AmpMark::kNone) continue;
    op->marks.amp_reason.clear();
    if (first == nullptr) first = op.get();
  }
  if (first != nullptr) first->marks.amp_reason = std::move(text);
}

}  // namespace ampc
