#include "tests/extreme/odd_model.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/shape.h"
#include "graph/base/utf8.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"
#include "tests/extreme/recipe.h"

namespace ampc::extreme {
namespace {

// Needs a block, another process, or several ops.
bool IsTried(const OpDef& def) {
  if (def.opaque || absl::StartsWith(def.name, "c_")) return false;
  for (const AttrDef& attr : def.attrs) {
    if (std::holds_alternative<BlockRef>(attr.value)) return false;
  }
  const onnx::OnnxDef* onnx = onnx::DefOf(def);
  return onnx != nullptr ? onnx->op->lower != nullptr || onnx->op->same : def.name.find('.') == std::string::npos;
}

bool NamesIntegers(absl::string_view slot) {
  for (absl::string_view part : {"Ids", "Index", "Label", "Shape", "Axis", "Num", "K", "Starts", "Ends"}) {
    if (absl::StrContains(slot, part)) return true;
  }
  return false;
}

DType AnyType(Choices& choices) { return static_cast<DType>(1 + choices.Below(kNumDTypes - 1)); }

DType TypeIn(onnx::TypeSet set, Choices& choices) {
  for (const DType usual : {DType::kF32, DType::kI64, DType::kU8, DType::kBool}) {
    if ((set & onnx::Bit(usual)) != 0 && choices.Chance(70)) return usual;
  }
  std::vector<DType> types;
  for (int i = 1; i < kNumDTypes; ++i) {
    if ((set & onnx::Bit(static_cast<DType>(i))) != 0) types.push_back(static_cast<DType>(i));
  }
  return types.empty() ? DType::kF32 : choices.Pick(types);
}

// One type for each slot of operands.
std::vector<DType> ChooseTypes(const OddModel& model, Choices& choices) {
  std::vector<DType> types;
  if (model.schema != nullptr) {
    std::vector<DType> of_set;
    for (const onnx::TypeSet set : model.schema->types) of_set.push_back(TypeIn(set, choices));
    for (const onnx::Formal& formal : model.schema->inputs) types.push_back(of_set[static_cast<size_t>(formal.type)]);
    return types;
  }
  const DType floats = choices.Chance(80) ? DType::kF32 : AnyType(choices);
  for (const SlotDef& slot : model.def->inputs) types.push_back(slot.host_value || NamesIntegers(slot.name) ? DType::kI64 : floats);
  return types;
}

}  // namespace

std::vector<const OpDef*> TriedOps() {
  std::vector<const OpDef*> ops;
  for (const OpDef* def : onnx::AllOps()) {
    if (onnx::DefOf(*def) != nullptr && IsTried(*def)) ops.push_back(def);
  }
  for (const OpDef* def : Ops().All()) {
    if (IsTried(*def)) ops.push_back(def);
  }
  return ops;
}

OddModel MakeModel(const OpDef& def, int changes, Choices& choices) {
  OddModel model;
  model.def = &def;
  const onnx::OnnxDef* onnx = onnx::DefOf(def);
  model.schema = onnx == nullptr ? nullptr : onnx->schema;
  const std::vector<DType> types = ChooseTypes(model, choices);
  if ((changes > 0 && choices.Chance(10)) || !FromRecipe(types, &model)) FromNames(types, choices, &model);
  for (std::vector<Operand>& slot : model.slots) {
    for (Operand& operand : slot) {
      operand.constant = choices.Chance(40);
      operand.open = choices.Chance(30) ? 1 + static_cast<int>(choices.Below(2)) : 0;
    }
  }
  model.all_results = changes > 0 && choices.Chance(50);
  Change(changes, choices, &model);
  return model;
}

TensorMap FeedsOf(const OddModel& model) {
  TensorMap feeds;
  for (size_t slot = 0; slot < model.slots.size(); ++slot) {
    for (size_t i = 0; i < model.slots[slot].size(); ++i) {
      const Operand& operand = model.slots[slot][i];
      if (operand.given && !operand.constant) feeds[absl::StrCat(std::string(1, static_cast<char>('a' + slot)), i)] = operand.value;
    }
  }
  return feeds;
}

std::string Describe(const OddModel& model) {
  std::vector<std::string> operands;
  for (const std::vector<Operand>& slot : model.slots) {
    std::vector<std::string> of_slot;
    for (const Operand& o : slot) {
      of_slot.push_back(!o.given ? "-"
                                 : absl::StrCat(Name(o.value.dtype()), ShapeToString(o.value.dims()),
                                                o.constant   ? "c"
                                                : o.open > 0 ? "?"
                                                             : ""));
    }
    operands.push_back(of_slot.empty() ? "-" : absl::StrJoin(of_slot, "+"));
  }
  return Printable(absl::StrCat(model.def->name, "(", absl::StrJoin(operands, ", "), ") ", absl::StrJoin(model.changes, "; ")));
}

}  // namespace ampc::extreme
