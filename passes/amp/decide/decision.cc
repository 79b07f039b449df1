#include "passes/amp/decide/decision.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/analysis/schema_support.h"

namespace ampc {

const OpDecision& AmpDecision::For(const Op& op) const {
  static const OpDecision* const kUntouched = new OpDecision{false, true, "later", "not there when the decision was made"};
  return op.id() < static_cast<int>(ops.size()) ? ops[op.id()] : *kUntouched;
}

SlotPrecision InputPrecision(const AmpDecision& decision, const Op& op, int slot) {
  const SlotDef& def = op.def().inputs[slot];
  // An unknown op gets what the program gave it, but for slots that Paddle's tables name; what its bodies read, they convert.
  if (op.def().opaque && def.name == onnx::kCaptures) return SlotPrecision::kAsIs;
  if (op.def().opaque && SlotMayBeLow(decision.inputs, op.type(), def.name)) return SlotPrecision::kFollow;
  if (decision.own_slots) return InputPrecisionFor(op.def(), slot, decision.low);
  if (!op.SubBlocks().empty()) return SlotPrecision::kAsIs;  // a cast here would not reach the body
  return SlotMayBeLow(decision.inputs, op.type(), def.name) ? SlotPrecision::kFollow : SlotPrecision::kFp32;
}

SlotPrecision OutputPrecision(const AmpDecision& decision, const Op& op, int slot) {
  const SlotDef& def = op.def().outputs[slot];
  // A user's own op, or a cast that is to give the low type.
  if ((op.def().opaque || IsCast(op)) && decision.For(op).low) return SlotPrecision::kFollow;
  if (decision.own_slots) return OutputPrecisionFor(op.def(), slot, decision.low);
  return SlotMayBeLow(decision.outputs, op.type(), def.name) ? SlotPrecision::kFollow : SlotPrecision::kFp32;
}

bool ListsCasts(const AmpDecision& decision, const Op& op) {
  if (decision.lists_casts.empty() || op.SubBlocks().empty()) return false;
  const OpDecision& d = decision.For(op);
  return !d.low && !d.untouched && Words(decision.lists_casts).contains(op.type());
}

bool IsCast(const Op& op) { return op.type() == "cast" || op.type() == "amp_cast"; }

std::string ToTable(const AmpDecision& decision, const Program& program) {
  size_t value_width = 0;
  size_t op_width = 0;
  const auto value_name = [](const Op& op) { return op.outputs().empty() ? std::string("-") : op.outputs()[0]->name(); };
  ForEachOp(program, [&](const Op& op) {
    if (IsInserted(op)) return;
    value_width = std::max(value_width, value_name(op).size());
    op_width = std::max(op_width, op.type().size());
  });
  std::string out;
  ForEachOp(program, [&](const Op& op) {
    if (IsInserted(op)) return;
    const OpDecision& d = decision.For(op);
    const std::string value = value_name(op);
    const absl::string_view color = d.untouched ? "-" : d.low ? "low" : "fp32";
    absl::StrAppend(&out, value, std::string(value_width - value.size() + 2, ' '), op.type(),
                    std::string(op_width - op.type().size() + 2, ' '), color, std::string(6 - color.size(), ' '), d.rule);
    absl::StrAppend(&out, d.reason.empty() ? "" : ": ", d.reason, "\n");
  });
  return out;
}

}  // namespace ampc
