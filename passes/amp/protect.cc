#include "passes/amp/protect.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/cast_parameters.h"
#include "passes/amp/decision.h"
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/amp/stored_losses.h"
#include "passes/analysis/op_kinds.h"
#include "passes/analysis/per_record.h"
#include "passes/analysis/schema_support.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// The smallest normal value of f16: a logarithm of more than that loses nothing that matters.
constexpr double kSafeForLog = 0x1p-14;
// The error of a normalisation's factor that counts as rounding.
constexpr double kSmallError = 0x1p-9;
// Reshapes between a value and what it is looked for in: a largest value and what it is subtracted from, a product and what divides it.
constexpr int kMostReshapes = 4;

}  // namespace

Protector::Protector(DType low, OnTiny on_tiny, Program& program)
    : low_(low),
      largest_(low == DType::kF16 ? 65504.0 : 0x1.FEp127),
      smallest_(low == DType::kF16 ? 0x1p-14 : 0x1p-126),
      program_(program),
      roots_(program),
      bounds_(program, roots_),
      kinds_(program.num_op_ids(), 0),
      lost_(LossesOfStored(program, roots_, low, on_tiny)),
      flags_(program.num_var_ids(), 0),
      powers_(program.num_var_ids()),
      origins_(program.num_var_ids(), -1),
      definers_(program.num_var_ids(), nullptr),
      uses_(program.num_var_ids(), 0),
      summed_(program.num_var_ids(), 0) {
  PerRecord<uint32_t> kinds;
  const auto of = static_cast<uint32_t (*)(const OpDef&)>(&KindsOf);
  ForEachOp(program, [&](const Op& op) {
    kinds_[op.id()] = kinds.Of(op.def(), of);
    may_be_whole_ = may_be_whole_ || Is(op, OpKind::kWhole) || IsCast(op);
  });
}

bool Protector::Run() {
  ForEachVar(program_, [this](const Var& var) {
    if (var.literal != nullptr && !var.type.IsFloat()) flags_[var.id()] |= kConstant;
    if (var.kind == VarKind::kFeed && var.type.dtype == DType::kF32) flags_[var.id()] |= kFed;
  });
  CountUses();
  FindNumbers();
  ForwardBlock(program_.main());
  ProtectIndexes();
  // Again, because a loop's body writes what its earlier ops read in the next turn.
  if (program_.num_blocks() > 1) ProtectIndexes();
  ProtectLogs();
  ProtectAngles();
  ProtectPlaces();
  ProtectTurns();
  ProtectProbabilities();
  return Mark();
}

bool Protector::Reads(const Op& op, uint16_t flags) const {
  for (const Var* var : op.inputs()) {
    if (Has(*var, flags)) return true;
  }
  return false;
}

void Protector::Set(const Op& op, uint16_t flags) {
  for (const Var* var : op.outputs()) flags_[var->id()] |= flags;
}

void Protector::Because(const Op& op, std::string reason) {
  if (MayBecomeLow(op) && HasF32(op.outputs())) reasons_.try_emplace(op.id(), std::move(reason));
}

bool Protector::InRange(const Var& var) const { return bounds_.Of(var).Magnitude() <= largest_; }

bool Protector::IsFixed(const Var& var) const { return IsStored(roots_.Root(var)) || Has(var, kConstant); }

bool Protector::HandsOn(const Op& op) const {
  const AmpClass amp = ClassOf(op);
  const bool arithmetic = Is(op, OpKind::kArithmetic) || Is(op, OpKind::kSum) || Is(op, OpKind::kRunning);
  return arithmetic || amp == AmpClass::kClear || amp == AmpClass::kWidest || IsCast(op) || Is(op, OpKind::kHandsOn);
}

void Protector::CountUses() {
  ForEachOp(program_, [this](const Op& op) {
    if (IsInserted(op)) return;
    for (const Var* var : op.inputs()) {
      const int id = roots_.Root(*var).id();
      ++uses_[id];
      if (Is(op, OpKind::kSum)) ++summed_[id];
    }
  });
  for (const Var* var : program_.fetches) ++uses_[roots_.Root(*var).id()];
}

void Protector::ForwardBlock(const Block& block) {
  for (const std::unique_ptr<Op>& op : block.ops()) {
    if (IsInserted(*op)) continue;
    for (const int index : op->SubBlocks()) {
      const Block& body = program_.block(index);
      EnterBlock(*op, body);
      ForwardBlock(body);
      LeaveBlock(*op, body);
    }
    Forward(*op);
  }
}

void Protector::Cross(const Var& from, const Var& to) {
  flags_[to.id()] |= flags_[roots_.Root(from).id()] & kCrossesBlocks;
  if (const Guard* guard = GuardOf(from)) guards_.try_emplace(to.id(), Guard(*guard));
}

void Protector::EnterBlock(const Op& op, const Block& block) {
  if (block.ops().empty() || block.ops()[0]->type() != onnx::kEnter) return;
  const absl::Span<Var* const> inside = block.ops()[0]->outputs();
  // The variadic operands are the last inputs of the subgraph.
  for (int s = 0; s < static_cast<int>(op.def().inputs.size()); ++s) {
    if (!op.def().inputs[s].variadic || op.def().inputs[s].name == onnx::kCaptures) continue;
    const absl::Span<Var* const> given = op.inputs(s);
    for (size_t i = 1; i <= std::min(given.size(), inside.size()); ++i) {
      Cross(*given[given.size() - i], *inside[inside.size() - i]);
    }
  }
}

void Protector::LeaveBlock(const Op& op, const Block& block) {
  if (block.ops().empty() || block.ops().back()->type() != onnx::kYield) return;
  const absl::Span<Var* const> given = block.ops().back()->inputs();
  // A loop's condition comes first and is no result.
  for (size_t i = 1; i <= std::min(given.size(), op.outputs().size()); ++i) {
    Cross(*given[given.size() - i], *op.outputs()[op.outputs().size() - i]);
  }
}

void Protector::Forward(const Op& op) {
  for (const Var* var : op.outputs()) definers_[var->id()] = &op;
  bounds_.Add(op);
  if (FromConstants(op)) {
    for (const Var* var : op.outputs()) {
      if (var->kind == VarKind::kTemp) flags_[var->id()] |= kConstant;
    }
    if (!op.inputs().empty()) Because(op, "protect.shape: computed from shapes and constants alone");
  }
  const LostValue created = LossOfCreated(op, low_);
  for (const Var* var : op.outputs()) lost_[var->id()] = created;
  ReadConstants(op);
  FollowRange(op);
  FollowGuards(op);
  FollowPowers(op);
  FollowSums(op);
  FollowStatistics(op);
  FollowMeanProducts(op);
  FollowLosses(op);
  FollowAreas(op);
  FollowFeeds(op);
  CheckBounds(op);
  CheckBatchNorm(op);
  FollowProducts(op);
  FollowWholeNumbers(op);
  if (Is(op, OpKind::kExp) && op.inputs().size() == 1) {
    const Op* exponent = definers_[In(op, 0).id()];
    if (exponent != nullptr && IsDistanceFromExtremum(*exponent)) {
      Because(*exponent, "protect.distance: an exponent, and its operands may be many times larger");
    } else if (low_ == DType::kF16 && !InRange(*op.outputs()[0])) {
      Set(op, kSummed | kExp);  // from 11.1 on
    }
  }
  if (Is(op, OpKind::kLog) && !op.inputs().empty() && !(bounds_.Of(*op.inputs()[0]).low >= kSafeForLog)) logs_.push_back(&op);
}

// A literal that was an attribute in an earlier version of the operator counts as one: a model is judged the same in all its operator sets.
bool Protector::FromConstants(const Op& op) const {
  if (Is(op, OpKind::kShapeReader)) return true;
  if (!op.def().pure || op.def().opaque || !op.SubBlocks().empty()) return false;
  bool shape = op.inputs().empty();
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var& root = In(op, i);
    if (!Has(root, kConstant) && root.literal == nullptr) return false;
    shape = shape || (Has(root, kConstant) && (root.literal == nullptr || !WasAttribute(op.def(), op.InputSlotOf(i))));
  }
  return shape;
}

std::vector<const Op*> Protector::MakersOf(const Var& var) const {
  std::vector<const Op*> makers;
  const Op* maker = definers_[var.id()];
  while (maker != nullptr) {
    makers.push_back(maker);
    const bool moves = ClassOf(*maker) == AmpClass::kClear && !maker->inputs().empty() && makers.size() <= kMostReshapes;
    maker = moves ? definers_[In(*maker, 0).id()] : nullptr;
  }
  return makers;
}

bool Protector::IsDistanceFromExtremum(const Op& op) const {
  if (!Is(op, OpKind::kAdditive) || Is(op, OpKind::kSelection) || op.inputs().size() != 2) return false;
  for (int i = 0; i < 2; ++i) {
    const std::vector<const Op*> makers = MakersOf(In(op, i));
    const auto extremum = std::find_if(makers.begin(), makers.end(), [this](const Op* maker) { return Is(*maker, OpKind::kExtremum); });
    if (extremum != makers.end() && &In(**extremum, 0) == &In(op, 1 - i)) return true;
  }
  return false;
}

// Large values stay large through arithmetic until something bounds them.
void Protector::FollowRange(const Op& op) {
  const AmpClass amp = ClassOf(op);
  if (Reads(op, kLarge) && amp != AmpClass::kAllow) {
    Because(op, absl::StrCat("protect.range: reads a value beyond the range of ", Name(low_)));
    const bool stays = MayBecomeLow(op) && !Is(op, OpKind::kBounded);
    if (stays || IsCast(op)) Set(op, kLarge);
  }
}

void Protector::CheckBounds(const Op& op) {
  if (!MayBecomeLow(op)) return;
  for (const Var* var : op.outputs()) {
    const double reach = bounds_.Of(*var).Magnitude();
    if (!var->type.IsFloat() || !std::isfinite(reach) || reach <= largest_ || Has(*var, kLarge)) continue;
    Because(op, absl::StrCat("protect.bounds: reaches up to ", reach, ", beyond the range of ", Name(low_)));
    Set(op, kLarge);
  }
}

// Before operator set 15, scale, bias and statistics have the type of the values: variances beyond the range, or too small beside epsilon.
void Protector::CheckBatchNorm(const Op& op) {
  if (onnx::TypeName(op.def()) != "BatchNormalization" || op.def().inputs.size() < 5) return;
  for (int slot = 1; slot < 5; ++slot) {
    if (op.input(slot) == nullptr || InputPrecisionFor(op.def(), slot, low_) != SlotPrecision::kFollow) continue;
    const std::vector<float> values = OriginalFloats(roots_.Root(*op.input(slot)));
    const LostValue lost = LossOf(values, low_);
    if (lost.loss == Loss::kOverflows) Because(op, absl::StrCat("protect.constant: ", op.def().inputs[slot].name, " has ", WhatIsLost(lost, low_)));
    if (slot != 4) continue;
    const double epsilon = op.GetFloat("epsilon");
    for (const float variance : values) {
      const double error = std::fabs(Rounded(variance, low_) - variance);
      if (low_ != DType::kF16 || !(error > kSmallError * (variance + epsilon))) continue;
      Because(op, absl::StrCat("protect.constant: variance ", variance, " has few bits in ", Name(low_)));
    }
  }
}

// A mark that the program came with stays.
bool Protector::Mark() {
  bool changed = false;
  for (int b = 0; b < program_.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program_.block(b).ops()) {
      const auto reason = reasons_.find(op->id());
      if (reason == reasons_.end() || op->marks.amp != AmpMark::kNone) continue;
      op->marks.amp = AmpMark::kFp32;
      op->marks.amp_reason = std::move(reason->second);
      changed = true;
    }
  }
  return changed;
}

PassInfo ProtectPass() {
  PassInfo info;
  info.name = "protect";
  info.summary = "marks shape arithmetic, index computation, and what tiny or huge constants touch as fp32";
  info.options = {{"dtype", "f16 (default) or bf16: the type whose range counts"},
                  {"on_tiny", "what cast-parameters-to-fp16 is told: subnormal (default), flush, keep"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const DType low, LowDTypeOption(options, "dtype", DType::kF16));
    AMPC_ASSIGN_OR_RETURN(const OnTiny on_tiny, OnTinyOption(options));
    return MakePass([low, on_tiny](PassContext&, Program& program) -> absl::StatusOr<bool> { return Protector(low, on_tiny, program).Run(); });
  };
  return info;
}

}  // namespace ampc
