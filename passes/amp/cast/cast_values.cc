#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/infer_context.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/cast/materializer.h"

namespace ampc {
namespace {

bool Differs(const std::optional<TensorType>& inferred, const Var& var) {
  return inferred.has_value() && IsFloat(inferred->dtype) && inferred->dtype != var.type.dtype;
}

}  // namespace

void Materializer::ConvertOperands(Op& op, bool low) {
  if (decision_.casts_captures && !op.SubBlocks().empty()) CastCaptures(op, low);
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    Var* var = op.inputs()[i];
    if (!var->type.IsFloat()) continue;
    const SlotPrecision precision = InputPrecision(decision_, op, op.InputSlotOf(i));
    if (precision == SlotPrecision::kAsIs) continue;
    Var* want = var;
    if (low && precision == SlotPrecision::kFollow) {
      if (var->type.dtype == DType::kF32) want = As(var, decision_.low);
    } else if (WasWider(*var)) {
      want = As(var, DType::kF32);
    }
    if (want == var) continue;
    op.ReplaceInput(i, want);
  }
}

bool Materializer::WasWider(const Var& var) const {
  if (!IsLowPrecision(var.type.dtype)) return false;
  if (var.was == DType::kF32 || decision_.widen_native) return true;
  auto it = sources_.find(var.id());
  return it != sources_.end() && it->second.var->type.dtype == DType::kF32;
}

void Materializer::RetargetAttrs(Op& op) {
  for (const AttrDef& def : op.def().attrs) {
    // A foreign decision that makes a creation low means its result, and so does any that makes a cast low.
    const bool result = !decision_.own_slots || (IsCast(op) && def.name == "out_dtype");
    if ((!def.retarget && !result) || op.GetDType(def.name) != DType::kF32) continue;
    op.SetAttr(def.name, decision_.low);
    op.marks.was.emplace_back(def.name, DType::kF32);
    changed_ = true;
  }
}

void Materializer::RestoreAttrs(Op& op) {
  if (op.marks.was.empty()) return;
  for (const auto& [name, was] : op.marks.was) op.SetAttr(name, was);
  op.marks.was.clear();
  changed_ = true;
}

void Materializer::RetypeResults(Op& op) {
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
    Var* var = op.outputs()[i];
    const bool keep = var->kind == VarKind::kTemp && AmpDecision::Has(decision_.keep_var, var->id());
    if (keep && var->type.dtype == decision_.low && var->was == DType::kF32)
      Retype(*var, DType::kF32);  // an earlier decision did not keep it
    if (!var->type.IsFloat() || var->type.dtype != DType::kF32) continue;
    if (OutputPrecision(decision_, op, op.OutputSlotOf(i)) != SlotPrecision::kFollow) continue;
    if (var->kind != VarKind::kTemp || keep) {
      DefineBeforeCast(op, i, decision_.low);
    } else {
      Retype(*var, decision_.low);
    }
  }
}

void Materializer::WidenResults(Op& op) {
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
    Var* var = op.outputs()[i];
    if (!var->type.IsFloat() || !IsLowPrecision(var->type.dtype)) continue;
    if (var->kind == VarKind::kTemp && var->was == DType::kF32) {
      Retype(*var, DType::kF32);  // an earlier decision made it low
      continue;
    }
    if (OutputPrecision(decision_, op, op.OutputSlotOf(i)) == SlotPrecision::kAsIs) continue;
    if (var->kind == VarKind::kCarry && IsRetyped(*var)) {
      DefineBeforeCast(op, i, DType::kF32);
    } else if (var->kind == VarKind::kTemp && decision_.widen_native) {
      Retype(*var, DType::kF32);
    }
  }
}

absl::Status Materializer::PropagateTypes(Op& op) {
  if (op.def().opaque || op.outputs().empty()) return absl::OkStatus();
  // A value that a subgraph reads from outside may be low: its ops are converted in its block, and what it gives keeps its type.
  if (op.def().InputSlot(onnx::kCaptures) >= 0) return absl::OkStatus();
  bool retyped = false;
  for (const Var* var : op.inputs()) retyped = retyped || (var->type.IsFloat() && WasWider(*var));
  if (!retyped) return absl::OkStatus();
  static const TypeEnv kDeclared;
  const absl::StatusOr<std::vector<std::optional<TensorType>>> inferred = InferOp(op, kDeclared);
  bool follows = inferred.ok();
  for (size_t i = 0; follows && i < inferred->size(); ++i) {
    const Var* var = op.outputs()[i];
    if (!Differs((*inferred)[i], *var)) continue;
    follows = var->kind == VarKind::kTemp && !AmpDecision::Has(decision_.keep_var, var->id());
  }
  if (follows) {
    for (size_t i = 0; i < inferred->size(); ++i) {
      if (Differs((*inferred)[i], *op.outputs()[i])) Retype(*op.outputs()[i], (*inferred)[i]->dtype);
    }
    return absl::OkStatus();
  }
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    Var* var = op.inputs()[i];
    if (!var->type.IsFloat() || !WasWider(*var)) continue;
    op.ReplaceInput(i, As(var, DType::kF32));
    changed_ = true;
  }
  return absl::OkStatus();
}

void Materializer::FixInDType(Op& op) {
  const DType have = op.inputs()[0]->type.dtype;
  const DType said = op.GetDType("in_dtype");
  if (said == DType::kInvalid || said == have || !IsFloat(said) || op.explicit_attr("in_dtype") == nullptr) return;
  bool marked = IsInserted(op);
  for (const auto& [name, was] : op.marks.was) marked = marked || name == "in_dtype";
  if (!marked) op.marks.was.emplace_back("in_dtype", said);
  op.SetAttr("in_dtype", have);
  changed_ = true;
}

void Materializer::Retype(Var& var, DType to) {
  if (static_cast<int>(is_retyped_.size()) <= var.id()) is_retyped_.resize(program_.num_var_ids());
  if (!is_retyped_[var.id()]) retyped_.emplace_back(&var, var.type.dtype);
  is_retyped_[var.id()] = true;
  if (!IsRetyped(var)) var.was = var.type.dtype;
  var.type.dtype = to;
  if (var.was == to) var.was = DType::kInvalid;
}

void Materializer::DefineBeforeCast(Op& op, int flat, DType type) {
  Var* var = op.outputs()[flat];
  Var* uncast = block_->AddVar(block_->UniqueName(absl::StrCat(var->name(), ".", Name(type))), VarKind::kTemp, var->type.WithDType(type));
  uncast->stop_gradient = var->stop_gradient;
  uncast->was = var->type.dtype;
  op.ReplaceOutput(flat, uncast);
  trailing_.emplace_back(uncast, var);
  changed_ = true;
}

Var* Materializer::As(Var* var, DType to) {
  if (var->type.dtype == to) return var;
  auto source = sources_.find(var->id());
  if (source != sources_.end() && versions_.Of(*source->second.var) == source->second.source_version &&
      source->second.var->type.dtype == to && &source->second.var->block() == block_) {
    return source->second.var;
  }
  auto copy = copies_.find(Key(var->id(), to));
  if (copy != copies_.end() && versions_.Of(*var) == copy->second.source_version && copy->second.var->type.dtype == to) {
    return copy->second.var;
  }
  if (Var* around = CastAround(*var, to); around != nullptr) return around;
  Var* result = block_->AddVar(block_->UniqueName(absl::StrCat(var->name(), ".", Name(to))), VarKind::kTemp, var->type.WithDType(to));
  result->stop_gradient = var->stop_gradient;
  AppendCast(var, result);
  Remember(var, result);
  changed_ = true;
  return result;
}

void Materializer::AppendCast(Var* from, Var* to) {
  std::unique_ptr<Op> op = block_->NewOp(cast_def_);
  op->SetInputs(0, {&from, 1});
  op->SetOutputs(0, {&to, 1});
  op->SetAttr("in_dtype", from->type.dtype);
  op->SetAttr("out_dtype", to->type.dtype);
  op->marks.amp = AmpMark::kInserted;
  out_.push_back(std::move(op));
}

void Materializer::Remember(Var* from, Var* to) {
  if (to->kind != VarKind::kTemp) return;
  const int version = versions_.Of(*from);
  copies_[Key(from->id(), to->type.dtype)] = {to, version};
  sources_[to->id()] = {from, version};
}

}  // namespace ampc
