#include "passes/analysis/schema_support.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc {
namespace {

using onnx::Bit;

SlotPrecision PrecisionFor(const OpDef& def, const SlotDef& slot, const std::vector<onnx::Formal>& formals, size_t index, DType low) {
  // The slot of what a subgraph captures stands behind the formal ones.
  if (slot.precision != SlotPrecision::kFollow || index >= formals.size()) return slot.precision;
  const onnx::Schema& schema = *onnx::DefOf(def)->schema;
  return (schema.types[formals[index].type] & Bit(low)) == 0 ? SlotPrecision::kFp32 : SlotPrecision::kFollow;
}

}  // namespace

SlotPrecision InputPrecisionFor(const OpDef& def, int slot, DType low) {
  const onnx::OnnxDef* onnx = onnx::DefOf(def);
  return onnx == nullptr ? def.inputs[slot].precision : PrecisionFor(def, def.inputs[slot], onnx->schema->inputs, slot, low);
}

SlotPrecision OutputPrecisionFor(const OpDef& def, int slot, DType low) {
  const onnx::OnnxDef* onnx = onnx::DefOf(def);
  return onnx == nullptr ? def.outputs[slot].precision : PrecisionFor(def, def.outputs[slot], onnx->schema->outputs, slot, low);
}

bool SchemaAllows(const OpDef& def, DType low) {
  if (onnx::DefOf(def) == nullptr) return true;
  // The first result that can be float decides; where there is none (a comparison), the first operand.
  for (int i = 0; i < static_cast<int>(def.outputs.size()); ++i) {
    if (def.outputs[i].precision == SlotPrecision::kFollow) return OutputPrecisionFor(def, i, low) == SlotPrecision::kFollow;
  }
  for (int i = 0; i < static_cast<int>(def.inputs.size()); ++i) {
    if (def.inputs[i].precision == SlotPrecision::kFollow) return InputPrecisionFor(def, i, low) == SlotPrecision::kFollow;
  }
  return false;
}

bool WasAttribute(const OpDef& def, int slot) {
  const onnx::OnnxDef* onnx = onnx::DefOf(def);
  if (onnx == nullptr || slot >= static_cast<int>(onnx->schema->inputs.size())) return false;
  const onnx::Schema* version = onnx->schema;
  // TopK's operand is K, and its attribute was k.
  const auto same = [name = version->inputs[slot].name](const onnx::FormalAttr& attr) { return absl::EqualsIgnoreCase(attr.name, name); };
  while ((version = onnx::FindSchema(version->type, version->since - 1)) != nullptr) {
    if (std::any_of(version->attrs.begin(), version->attrs.end(), same)) return true;
  }
  return false;
}

}  // namespace ampc
