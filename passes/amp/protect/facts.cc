#include "passes/amp/protect/facts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "graph/base/host_tensor.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/find_marks.h"
#include "passes/amp/protect/stored_losses.h"
#include "passes/amp/protect/thresholds.h"
#include "passes/amp/protect/visit.h"
#include "passes/analysis/per_record.h"

namespace ampc {
namespace {

bool IsOneElement(const Var& var) { return var.type.has_rank && var.type.NumElements() == 1; }

// Operands that are known before a run, or say which element, or how far integers are apart.
bool AsksForExactOperands(const OpDef& def) {
  return std::any_of(def.inputs.begin(), def.inputs.end(), [](const SlotDef& slot) {
    const bool index = slot.precision == SlotPrecision::kAsIs && absl::StrContains(slot.name, "Ind");
    return slot.host_value || index || absl::EndsWith(slot.name, "_scale") || absl::EndsWith(slot.name, "_zero_point");
  });
}

bool IsTransposed(const Op& op, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (op.GetBool(name) || op.GetInt(name) != 0) return true;
  }
  return false;
}

// The size of the dimension that a product adds up, from one operand's type.
int64_t InnerDim(const TensorType& type, bool is_last) {
  const int rank = type.rank();
  if (!type.has_rank || rank == 0) return kUnknownDim;
  return type.dims[is_last || rank == 1 ? rank - 1 : rank - 2];
}

// No label is summed over: "i,j->ij".
bool IsOuter(absl::string_view equation) {
  const std::vector<absl::string_view> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) return false;
  for (const char c : sides[0]) {
    if (c != ',' && c != ' ' && !absl::StrContains(sides[1], c)) return false;
  }
  return true;
}

bool IsProductOfPositions(const Op& op) {
  if (onnx::NativeName(op.def()) == "einsum") return IsOuter(op.GetString("equation"));
  const std::optional<int64_t> terms = TermsOfProduct(op);
  return terms.has_value() && IsKnown(*terms) && *terms <= kMostCoordinates;
}

// The result of a matrix product, as long as nothing adds up many of it: a sum of many has more digits than its elements.
void PropagateProducts(const Facts& facts, const Op& op, Fact* results) {
  const bool sums = op.HasTrait(OpTrait::kSum) || op.HasTrait(OpTrait::kRunning);
  if (!IsNetworkProduct(op) && (sums || !facts.Reads(op, Fact::kProduct))) return;
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    if (op.outputs()[i]->type.IsFloat()) results[i].traits |= Fact::kProduct;
  }
}

}  // namespace

Facts::Facts(const Program& program, DType low, OnTiny on_tiny, const InputRanges& ranges, const InputRanges& measured,
             const MaskConstants& masks)
    : low_(low),
      on_tiny_(on_tiny),
      largest_(low == DType::kF16 ? 65504.0 : 0x1.FEp127),
      smallest_(low == DType::kF16 ? 0x1p-14 : 0x1p-126),
      flow_(program),
      weighted_(flow_, low),
      weighted_measured_(flow_, low),
      measured_(measured),
      asks_(program.num_op_ids(), false),
      lost_(LossesOfStored(program, flow_.roots(), low, on_tiny)),
      fetched_(program.num_var_ids(), false),
      numbers_(program.num_var_ids(), false),
      forward_(flow_, *this) {
  PerRecord<bool> asks;
  ForEachOp(program, [&](const Op& op) {
    asks_[op.id()] = asks.Of(op.def(), &AsksForExactOperands) || !op.SubBlocks().empty();
    may_round_ = may_round_ || op.HasTrait(OpTrait::kWhole) || IsCast(op);
  });
  for (const Var* var : program.fetches) fetched_[flow_.Root(*var).id()] = true;
  for (const Var* var : program.feeds) {
    const auto it = ranges.find(var->exported());
    if (it != ranges.end()) fed_.emplace(var->id(), it->second);
  }
  for (const auto& [id, mask] : masks) {
    masks_.emplace(id, Bounds{mask.many ? std::min(mask.stored, 0.0) : mask.stored, mask.many ? std::max(mask.stored, 0.0) : mask.stored});
    lost_[id] = {};
  }
  FindNumbers();
}

void Facts::FindNumbers() {
  // The ops of a subgraph read its operands.
  const std::vector<uint32_t> spread = BackwardSets(flow_, [](const Op& op, uint32_t results, AddToSets add) {
    const bool ends = std::all_of(op.outputs().begin(), op.outputs().end(), [](const Var* var) { return IsOneElement(*var); });
    if (!op.SubBlocks().empty() || (ends && results == 0)) return;
    for (const Var* var : op.inputs()) add(*var, 1);
  });
  for (const Op* op : flow_.ops()) {
    if (op->block().index() != 0) continue;
    for (const Var* var : op->outputs()) numbers_[var->id()] = IsOneElement(*var) && spread[flow_.Root(*var).id()] == 0;
  }
}

bool Facts::Find(Marks* marks, std::vector<RuleStep>* steps) {
  marks_ = marks;
  steps_ = steps;
  forward_.Run();
  return !forward_.revisited();
}

Fact Facts::Initial(const Var& var) const {
  Fact fact;
  fact.bounds = BoundsOfStored(var);
  if (const auto it = fed_.find(var.id()); it != fed_.end()) fact.bounds = it->second;
  if (const auto it = masks_.find(var.id()); it != masks_.end()) fact.bounds = it->second;
  fact.measured = Intersection(fact.bounds, MeasuredOf(var));
  fact.lost = lost_[var.id()];
  if (var.literal != nullptr && !var.type.IsFloat()) fact.traits |= Fact::kConstant;
  if (var.kind == VarKind::kFeed && var.type.dtype == DType::kF32) fact.traits |= Fact::kFed;
  return fact;
}

void Facts::Transfer(const Op& op, Fact* results, Marks* marks, std::vector<RuleStep>* steps) {
  FindResults(op, results);
  Visit visit(*this, op, results, marks);
  const absl::Span<const Rule> rules = ProtectRules();
  for (visit.rule = 0; visit.rule < static_cast<int>(rules.size()); ++visit.rule) {
    if (rules[visit.rule].forward == nullptr) continue;
    const Effect step = rules[visit.rule].forward(visit);
    if (steps != nullptr && step != Effect::kNone) steps->push_back({&op, visit.rule, step});
  }
  if (steps == nullptr) return;
  for (int r = 0; r < static_cast<int>(rules.size()); ++r) {
    bool has = false;
    for (size_t i = 0; i < op.outputs().size(); ++i) has = has || results[i].Has(rules[r].trait);
    if (has && !Reads(op, rules[r].trait)) steps->push_back({&op, r, Effect::kStarts});
  }
}

Fact Facts::Across(const Fact& fact) {
  Fact left;
  left.bounds = fact.bounds;
  left.measured = fact.measured;
  left.size_hint = fact.size_hint;
  left.traits = fact.traits & Fact::kMay;
  return left;
}

Fact Facts::Join(const Fact& a, const Fact& b) {
  Fact joined = a;
  joined.bounds = Union(a.bounds, b.bounds);
  joined.measured = Union(a.measured, b.measured);
  joined.traits = ((a.traits | b.traits) & Fact::kMay) | (a.traits & b.traits);
  if (joined.size_hint.kind == Fact::SizeHint::kNone) joined.size_hint = b.size_hint;
  if (joined.lost.loss == Loss::kNone) joined.lost = b.lost;
  return joined;
}

Fact Facts::Widen(const Fact& old, const Fact& now) {
  Fact wide = now;
  if (now.bounds.low < old.bounds.low) wide.bounds.low = Bounds().low;
  if (now.bounds.high > old.bounds.high) wide.bounds.high = Bounds().high;
  if (now.measured.low < old.measured.low) wide.measured.low = wide.bounds.low;
  if (now.measured.high > old.measured.high) wide.measured.high = wide.bounds.high;
  return wide;
}

Facts::Verdict Facts::VerdictOf(const Var& var) const {
  const Bounds& bounds = Of(var).bounds;
  if (InRange(bounds)) return Verdict::kSafe;
  return bounds.low > largest_ || bounds.high < -largest_ ? Verdict::kLeaves : Verdict::kUnknown;
}

bool Facts::Reads(const Op& op, uint16_t traits) const {
  for (const Var* var : op.inputs()) {
    if (Of(*var).Has(traits)) return true;
  }
  return false;
}

bool Facts::IsFixed(const Var& var) const {
  const Var& root = flow_.Root(var);
  return IsStored(root) || Of(root).Has(Fact::kConstant);
}

const std::vector<const AttrDef*>& Facts::AttributesOf(const Op& op) const {
  const auto [it, added] = attributes_.try_emplace(&op.def());
  if (added) {
    for (const AttrDef& attr : op.def().attrs) {
      if (attr.use != AttrUse::kNone) it->second.push_back(&attr);
    }
  }
  return it->second;
}

bool Facts::PropagatesLoss(const Op& op) const {
  const AmpClass amp = AmpClassOf(op);
  const bool arithmetic = op.HasTrait(OpTrait::kArithmetic) || op.HasTrait(OpTrait::kSum) || op.HasTrait(OpTrait::kRunning);
  return arithmetic || amp == AmpClass::kClear || amp == AmpClass::kWidest || IsCast(op) || op.HasTrait(OpTrait::kControlMove);
}

std::vector<const Op*> Facts::MakersOf(const Var& var) const {
  std::vector<const Op*> makers;
  const Op* maker = flow_.Maker(var);
  while (maker != nullptr) {
    makers.push_back(maker);
    const bool moves = AmpClassOf(*maker) == AmpClass::kClear && !maker->inputs().empty() && makers.size() <= kMostReshapes;
    maker = moves ? flow_.Maker(In(*maker, 0)) : nullptr;
  }
  return makers;
}

bool Facts::IsDistanceFromExtremum(const Op& op) const {
  if (!op.HasTrait(OpTrait::kAdditive) || op.HasTrait(OpTrait::kSelection) || op.inputs().size() != 2) return false;
  for (int i = 0; i < 2; ++i) {
    const std::vector<const Op*> makers = MakersOf(In(op, i));
    const auto extremum = std::find_if(makers.begin(), makers.end(), [](const Op* maker) { return maker->HasTrait(OpTrait::kExtremum); });
    if (extremum != makers.end() && &In(**extremum, 0) == &In(op, 1 - i)) return true;
  }
  return false;
}

double Facts::FactorOf(const Var& var) const {
  const Fact& fact = Of(var);
  if (fact.lost.loss != Loss::kNone) return std::fabs(fact.lost.value);
  const double magnitude = fact.bounds.Magnitude();
  return IsFixed(var) && std::isfinite(magnitude) ? magnitude : 1;
}

double Facts::LeastFactorOf(const Var& var) const {
  const Fact& fact = Of(var);
  const HostTensor* literal = flow_.Root(var).literal.get();
  if (fact.lost.loss != Loss::kNone || !IsFixed(var)) return FactorOf(var);
  if (literal != nullptr && literal->dtype() == DType::kF32 && literal->num_elements() <= kMostVectorElements) {
    double least = 0;
    for (const float value : literal->values<float>()) {
      if (value != 0 && (least == 0 || std::fabs(value) < least)) least = std::fabs(value);
    }
    return least;
  }
  const double least = std::max(fact.bounds.low, -fact.bounds.high);  // not above zero where elements may be zero
  return least > 0 ? least : FactorOf(var);
}

int Facts::OriginOf(const Var& var) const {
  const int origin = Of(var).origin;
  return origin >= 0 ? origin : flow_.Root(var).id();
}

std::optional<int64_t> TermsOfProduct(const Op& op) {
  const absl::string_view name = onnx::NativeName(op.def());
  if ((name != "matmul" && name != "matmul_v2" && name != "bmm") || op.inputs().size() < 2) return std::nullopt;
  const int64_t x = InnerDim(op.inputs()[0]->type, !IsTransposed(op, {"trans_x", "transpose_X", "transA"}));
  const int64_t y = InnerDim(op.inputs()[1]->type, IsTransposed(op, {"trans_y", "transpose_Y", "transB"}));
  return IsKnown(x) ? x : y;
}

bool IsNetworkProduct(const Op& op) { return AmpClassOf(op) == AmpClass::kAllow && !IsProductOfPositions(op); }

bool MovesValues(const Op& op) {
  const AmpClass amp = AmpClassOf(op);
  return amp == AmpClass::kClear || amp == AmpClass::kWidest || IsCast(op);
}

int NumFloats(const Op& op) {
  int count = 0;
  for (const Var* var : op.inputs()) count += var->type.IsFloat() ? 1 : 0;
  return count;
}

Bounds Facts::MeasuredOf(const Var& var) const {
  const auto it = measured_.empty() ? measured_.end() : measured_.find(flow_.Root(var).exported());
  return it == measured_.end() ? Bounds() : it->second;
}

Fact Facts::FindBounds(const Op& op, bool* first_only) {
  Fact fact;
  fact.bounds = FindBounds(op, &Fact::bounds, weighted_, first_only);
  fact.measured = fact.bounds;
  bool ignored = false;
  if (!measured_.empty()) fact.measured = Intersection(fact.bounds, FindBounds(op, &Fact::measured, weighted_measured_, &ignored));
  if (*first_only || (Reads(op, Fact::kWorstCase) && !op.HasTrait(OpTrait::kBounded))) fact.traits = Fact::kWorstCase;
  return fact;
}

// Of weights only where all else is known, so that no others are read.
Bounds Facts::FindBounds(const Op& op, Bounds Fact::*which, WeightedBounds& weights, bool* first_only) {
  const auto known = [&](const Var* var) { return std::isfinite((Of(*var).*which).Magnitude()); };
  const bool may_read = std::all_of(op.inputs().begin(), op.inputs().end(),
                                    [&](const Var* var) { return known(var) || IsStored(flow_.Root(*var)) || !var->type.IsFloat(); });
  const auto of = [&](const Var& var) {
    const Bounds& known_bounds = Of(var).*which;
    if (!IsStored(flow_.Root(var))) return known_bounds;
    const Bounds bounds = may_read && !known(&var) ? weights.HullOf(var) : known_bounds;
    return RoundedOutwards(bounds, low_);
  };
  Bounds bounds = BoundsOfResults(op, of);
  const std::optional<Bounds> weighted = weights.Of(op, of);
  *first_only = weighted.has_value();
  if (weighted.has_value()) bounds = {std::max(bounds.low, weighted->low), std::min(bounds.high, weighted->high)};
  return !MovesValues(op) || IsCast(op) ? RoundedOutwards(bounds, low_) : bounds;
}

void Facts::FindResults(const Op& op, Fact* results) {
  bool first_only = false;
  const Fact bounded = FindBounds(op, &first_only);
  const LostValue created = LossOfCreated(op, low_);
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    const Var& var = *op.outputs()[i];
    const bool temporary = var.kind == VarKind::kTemp || var.kind == VarKind::kCarry;
    if (temporary && (var.type.IsFloat() || IsCast(op)) && (i == 0 || !first_only)) results[i] = bounded;
    if (!measured_.empty() && var.type.IsFloat()) results[i].measured = Intersection(results[i].measured, MeasuredOf(var));
    results[i].lost = created;
  }
  PropagateProducts(*this, op, results);
}

}  // namespace ampc
