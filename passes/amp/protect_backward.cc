// Indexes and logarithms: what has to stay fp32 because of who reads it.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/analysis/op_kinds.h"

namespace ampc {
namespace {

constexpr char kLeadsToLog[] = "protect.log: leads to a logarithm of small values";

// Matrix products and convolutions, as far as sizes are known: an unknown one counts as 1 in a cost, so it may be anything.
double WorkOf(const Op& op, bool* known) {
  if (ClassOf(op) != AmpClass::kAllow) return 0;
  for (const Var* var : op.outputs()) {
    if (!var->type.has_rank) *known = false;
    for (int i = 1; i < var->type.rank(); ++i) *known = *known && IsKnown(var->type.dims[i]);
  }
  return op.def().cost != nullptr ? op.def().cost(op).flops : 1;
}

bool MayBeIndex(const SlotDef& slot) { return slot.precision == SlotPrecision::kAsIs && absl::StrContains(slot.name, "Ind"); }
bool IsQuantisation(const SlotDef& slot) { return absl::EndsWith(slot.name, "_scale") || absl::EndsWith(slot.name, "_zero_point"); }

bool AsksForHostValues(const OpDef& def) {
  return std::any_of(def.inputs.begin(), def.inputs.end(),
                     [](const SlotDef& slot) { return slot.host_value || MayBeIndex(slot) || IsQuantisation(slot); });
}

}  // namespace

void Protector::ProtectIndexes() {
  for (int b = program_.num_blocks() - 1; b >= 0; --b) {
    const std::vector<std::unique_ptr<Op>>& ops = program_.block(b).ops();
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      const Op& op = **it;
      if (IsInserted(op)) continue;
      NeedHostValues(op);
      uint16_t needed = 0;
      for (const Var* var : op.outputs()) needed |= flags_[var->id()] & (kExact | kScale);
      if (Is(op, OpKind::kExtremum) || Is(op, OpKind::kSum)) needed &= kExact;
      const AmpClass amp = ClassOf(op);
      if (needed == 0 || amp == AmpClass::kAllow || amp == AmpClass::kDeny || op.def().opaque || Is(op, OpKind::kShapeReader) || !op.SubBlocks().empty()) continue;
      Because(op, (needed & kExact) != 0 ? "protect.index: its result becomes an index, a shape or a loop count"
                                         : "protect.scale: its result becomes a scale or a zero point of integers");
      for (const Var* var : op.inputs()) flags_[roots_.Root(*var).id()] |= needed;
    }
  }
}

void Protector::NeedHostValues(const Op& op) {
  const bool control = !op.SubBlocks().empty();
  if (Is(op, OpKind::kChooser)) {  // whoever reads the choice: equal scores and moved corners make it another
    for (const Var* var : op.inputs()) flags_[roots_.Root(*var).id()] |= kExact;
  }
  if (!control && !asks_for_host_values_.Of(op.def(), &AsksForHostValues)) return;
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const SlotDef& slot = op.def().inputs[op.InputSlotOf(i)];
    const bool condition = control && (slot.name == "Condition" || slot.name == "Cond" || slot.name == "cond");
    const bool index = MayBeIndex(slot) && IsInteger(In(op, i).type.dtype);
    if (slot.host_value || condition || index) flags_[In(op, i).id()] |= kExact;
    if (IsQuantisation(slot)) flags_[In(op, i).id()] |= kScale;
  }
}

bool Protector::IsTransform(const Op& op) const {
  if (Is(op, OpKind::kSelection) || Is(op, OpKind::kRectifier) || Is(op, OpKind::kExp)) return false;
  const AmpClass amp = ClassOf(op);
  return HandsOn(op) || amp == AmpClass::kAllow || amp == AmpClass::kDeny || Is(op, OpKind::kPower) || Is(op, OpKind::kRoot) || Is(op, OpKind::kExtremum);
}

void Protector::ProtectLogs() {
  if (logs_.empty()) return;
  enum Way : uint8_t {
    kLeads = 1 << 0,
    kDirect = 1 << 1,  // no function of a network lies between
    kBehind = 1 << 2,  // a product lies between
  };
  std::vector<uint8_t> ways(program_.num_var_ids(), 0);
  for (const Op* log : logs_) {
    for (const Var* var : log->inputs()) ways[roots_.Root(*var).id()] = kLeads | kDirect;
  }
  std::vector<const Op*> slice, direct;
  double inside = 0;
  double all = 0;
  bool known = true;
  for (int b = program_.num_blocks() - 1; b >= 0; --b) {
    const std::vector<std::unique_ptr<Op>>& ops = program_.block(b).ops();
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      const Op& op = **it;
      if (IsInserted(op) || Is(op, OpKind::kShapeReader)) continue;  // what a shape is does not depend on what its tensor holds
      const double work = WorkOf(op, &known);
      all += work;
      uint8_t way = 0;
      for (const Var* var : op.outputs()) way |= ways[var->id()];
      if (way == 0) continue;
      inside += work;
      slice.push_back(&op);
      if ((way & kBehind) != 0 && !IsTransform(op)) way &= ~kDirect;
      if ((way & kDirect) != 0) direct.push_back(&op);
      if (Is(op, OpKind::kNormalized)) continue;  // what its operand loses does not show
      if (ClassOf(op) == AmpClass::kAllow) way |= kBehind;
      for (const Var* var : op.inputs()) ways[roots_.Root(*var).id()] |= way;
    }
  }
  const bool too_much = known && inside > all / 2;
  for (const Op* op : too_much ? direct : slice) Because(*op, kLeadsToLog);
}

void Protector::ProtectProbabilities() {
  std::vector<bool> computed_with(program_.num_var_ids(), false);
  for (int b = program_.num_blocks() - 1; b >= 0; --b) {
    const std::vector<std::unique_ptr<Op>>& ops = program_.block(b).ops();
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      const Op& op = **it;
      if (IsInserted(op)) continue;
      const bool result = op.outputs().size() == 1 && !computed_with[op.outputs()[0]->id()];
      if (result && onnx::TypeName(op.def()) == "Softmax" && onnx::DefOf(op.def()) != nullptr) {
        Because(op, absl::StrCat("protect.result: a probability that is only fetched, near 1 steps of ", Name(low_), " are coarse"));
      }
      if (result && ClassOf(op) == AmpClass::kClear) continue;
      for (const Var* var : op.inputs()) computed_with[roots_.Root(*var).id()] = true;
    }
  }
}

}  // namespace ampc
