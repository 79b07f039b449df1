#include "passes/fusion/pattern.h"

#include <algorithm>
#include <vector>

#include "passes/fusion/constant_value.h"

namespace ampc {

const Op* Pattern::CastInFrontOf(const Var& var) const {
  const Op* op = var.kind == VarKind::kTemp ? uses_.producer(var) : nullptr;
  if (op == nullptr || &op->block() != &var.block() || !IsFloatCast(*op)) return nullptr;
  const Var& from = *op->inputs()[0];
  return from.kind == VarKind::kTemp || uses_.num_writers(from) == 0 ? op : nullptr;
}

Var* Pattern::BehindCasts(Var* var) const {
  for (int i = 0; i < kMostCasts; ++i) {
    const Op* cast = CastInFrontOf(*var);
    if (cast == nullptr) break;
    var = cast->inputs()[0];
  }
  return var;
}

Var* Pattern::InType(Var* var, DType dtype) const {
  for (int i = 0; var->type.dtype != dtype; ++i) {
    const Op* cast = CastInFrontOf(*var);
    if (cast == nullptr || i == kMostCasts) return nullptr;
    var = cast->inputs()[0];
  }
  return var;
}

bool Pattern::AddReaders(const Var& var, int* uses, std::vector<Op*>* readers) const {
  if (uses_.fetched(var)) return false;
  for (const Use& use : uses_.uses(var)) {
    if (++*uses > kMostUses) return false;
    if (IsFloatCast(*use.op)) {
      if (!AddReaders(*use.op->outputs()[0], uses, readers)) return false;
    } else if (std::find(readers->begin(), readers->end(), use.op) == readers->end()) {
      readers->push_back(use.op);
    }
  }
  return true;
}

std::optional<std::vector<Op*>> Pattern::ReadersBehindCasts(const Var& var) const {
  std::vector<Op*> readers;
  int uses = 0;
  if (!AddReaders(var, &uses, &readers)) return std::nullopt;
  return readers;
}

const Op* Pattern::Producer(const Var& var, const Op& reader, std::initializer_list<absl::string_view> types, bool alone) const {
  const Var* from = &var;
  for (int i = 0; i <= kMostCasts; ++i) {
    if (from->kind != VarKind::kTemp || (alone && !uses_.single_use(*from))) return nullptr;
    const Op* cast = CastInFrontOf(*from);
    if (cast == nullptr) break;
    from = cast->inputs()[0];
  }
  const Op* op = uses_.producer(*from);
  if (op == nullptr || &op->block() != &reader.block()) return nullptr;
  return std::find(types.begin(), types.end(), op->type()) == types.end() ? nullptr : op;
}

std::optional<double> Pattern::Number(const Var& var) {
  if (var.type.NumElements() != 1) return std::nullopt;
  const std::optional<std::vector<float>> values = ConstantFloats(var);
  if (!values.has_value()) return std::nullopt;
  return (*values)[0];
}

std::optional<Pattern::WithNumber> Pattern::SplitNumber(const Op& op) {
  if (op.inputs().size() != 2) return std::nullopt;
  for (int i : {0, 1}) {
    const std::optional<double> number = Number(*op.inputs()[i]);
    if (number.has_value()) return WithNumber{op.inputs()[1 - i], *number};
  }
  return std::nullopt;
}

std::optional<Pattern::WithNumber> Pattern::Scaled(const Op& op) {
  if (op.type() == "elementwise_mul") return SplitNumber(op);
  if (op.type() == "elementwise_div") {
    const std::optional<double> number = op.inputs().size() == 2 ? Number(*op.inputs()[1]) : std::nullopt;
    if (!number.has_value() || *number == 0) return std::nullopt;
    return WithNumber{op.inputs()[0], 1 / *number};
  }
  if (op.type() == "scale" && op.inputs().size() == 1 && op.GetFloat("bias") == 0)
    return WithNumber{op.inputs()[0], op.GetFloat("scale", 1)};
  return std::nullopt;
}

std::optional<Pattern::WithNumber> Pattern::Shifted(const Op& op) {
  if (op.type() == "elementwise_add") return SplitNumber(op);
  if (op.type() == "scale" && op.inputs().size() == 1 && op.GetFloat("scale", 1) == 1)
    return WithNumber{op.inputs()[0], op.GetFloat("bias")};
  return std::nullopt;
}

std::optional<Pattern::Ends> Pattern::ClipEnds(const Op& op) {
  Ends ends{op.GetFloat("min"), op.GetFloat("max")};
  for (const auto& [slot, end] : {std::pair("Min", &ends.low), std::pair("Max", &ends.high)}) {
    const Var* var = op.input(slot);
    if (var == nullptr) continue;
    const std::optional<double> number = Number(*var);
    if (!number.has_value()) return std::nullopt;
    *end = *number;
  }
  return ends;
}

Var* Pattern::Other(const Op& op, const Var& var) {
  if (op.inputs().size() != 2) return nullptr;
  for (int i : {0, 1}) {
    if (op.inputs()[i] == &var) return op.inputs()[1 - i];
  }
  return nullptr;
}

bool IsFloatCast(const Op& op) {
  if ((op.type() != "cast" && op.type() != "amp_cast") || op.inputs().size() != 1 || op.outputs().size() != 1) return false;
  return IsFusedType(op.inputs()[0]->type.dtype) && IsFusedType(op.outputs()[0]->type.dtype);
}

}  // namespace ampc
