#include "passes/amp/protect/masks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/stored_losses.h"
#include "passes/amp/protect/thresholds.h"

namespace ampc {
namespace {

// exp of minus that is 0 in f32, and its sum with 1 is 1 for any number of such terms.
constexpr double kExpIsZero = 104;
constexpr double kStep = 32;         // between large numbers of f16
constexpr int kMostWholes = 64;      // values looked at between integers and a mask
constexpr size_t kMostSources = 64;  // constants in a value: more of them are no mask of scores

enum class Part : uint8_t {
  kNone,
  kSentinel,  // each element is the constant
  kMask,      // or zero
  kMasked,    // or an ordinary value, to which the constant may be added
};

// A value that is made of such constants.
struct Masking {
  Part part = Part::kNone;
  int sign = 1;              // of the constant in it
  std::vector<int> sources;  // Var::id of the constants
};

// Of a constant that may be one: all elements are zero or beyond the range with one sign; part kNone for others.
Masking Read(const Facts& facts, const Var& var) {
  Masking out;
  for (const float value : OriginalFloats(var)) {
    const bool zero = value == 0;
    if (!zero && !(std::fabs(value) > facts.largest() && std::isfinite(value))) return {};
    const Part part = zero ? Part::kMask : Part::kSentinel;
    const int sign = value < 0 ? -1 : 1;
    if (!zero && out.sign != sign && !out.sources.empty()) return {};
    if (!zero) {
      out.sign = sign;
      out.sources = {var.id()};
    }
    if (out.part != Part::kMask) out.part = part;
  }
  return out.sources.empty() ? Masking() : out;
}

class MaskFinder {
 public:
  explicit MaskFinder(const Facts& facts) : facts_(facts), masking_(facts.flow().program().num_var_ids()) {}

  MaskConstants Run() {
    for (const Op* op : facts_.flow().ops()) Visit(*op);
    for (const Var* var : facts_.flow().program().fetches) Fail(Of(*var));
    SpreadFailures();
    MaskConstants masks;
    for (auto& [id, found] : found_) {
      if (failed_.contains(id)) continue;
      const Reach& reach = reach_[id];
      found.stored = std::copysign(StoredFor(reach), found.was);
      found.why = absl::StrCat(found.was, ", a mask, is stored as ", found.stored, ": exp gives 0 for both, scores reach ", reach.scores,
                               measured_.contains(id) ? " (measured)" : " (proven)",
                               reach.added == 0 ? "" : "; rows in which all is masked stay finite");
      masks.emplace(id, std::move(found));
    }
    return masks;
  }

 private:
  // The magnitude of what the constant masks, and of what is added to it.
  struct Reach {
    double scores = 0, added = 0;
  };

  // The values of constants are read where an op first asks for them.
  const Masking& Of(const Var& var) {
    const Var& root = facts_.flow().Root(var);
    Masking& masking = masking_[root.id()];
    const bool candidate = masking.part == Part::kNone && IsStored(root) && root.type.dtype == DType::kF32 &&
                           facts_.Of(root).lost.loss == Loss::kOverflows && facts_.flow().Makers(root).empty();
    if (!candidate || !asked_.insert(root.id()).second) return masking;
    masking = Read(facts_, root);
    if (masking.part == Part::kNone) return masking;
    MaskConstant& found = found_[root.id()];
    found.was = facts_.Of(root).lost.value;
    found.many = masking.part == Part::kMask;
    found.values = {root.id()};
    return masking;
  }

  void Fail(const Masking& masking) { failed_.insert(masking.sources.begin(), masking.sources.end()); }

  // A value has all of its constants, or none, stored as others.
  void SpreadFailures() {
    for (size_t before = failed_.size() + 1; before != failed_.size();) {
      before = failed_.size();
      for (const Masking& masking : masking_) {
        const bool any = std::any_of(masking.sources.begin(), masking.sources.end(), [this](int id) { return failed_.contains(id); });
        if (any) Fail(masking);
      }
    }
  }

  // A number that the type has, with room for what is added to it and the rounding of that.
  double StoredFor(const Reach& reach) const {
    if (facts_.low() == DType::kBF16 || reach.added == 0) return facts_.largest();
    return std::floor((facts_.largest() - 2 * kStep - reach.added) / kStep) * kStep;
  }

  void Visit(const Op& op) {
    bool any = false;
    for (const Var* var : op.inputs()) any = Of(*var).part != Part::kNone || any;
    if (!any) return;
    const Masking result = ResultOf(op);
    const bool taken = result.part == Part::kNone && TakesAway(op);
    const bool known = result.part != Part::kNone && op.outputs().size() == 1 && op.outputs()[0]->kind == VarKind::kTemp &&
                       op.outputs()[0]->type.dtype == DType::kF32 && facts_.flow().LinkedTo(*op.outputs()[0]).empty();
    if (known) {
      const int made = facts_.flow().Root(*op.outputs()[0]).id();
      for (const int id : result.sources) found_[id].values.push_back(made);
      masking_[made] = result;
    } else if (!taken) {
      for (const Var* var : op.inputs()) Fail(Of(*var));
    }
  }

  // Its result does not show by how much what is masked is less than what is not.
  bool TakesAway(const Op& op) {
    const absl::string_view name = onnx::NativeName(op.def());
    const bool known = name == "softmax" || name == "arg_max" || op.HasTrait(OpTrait::kExp);
    const Masking& masking = Of(*op.inputs()[0]);
    return known && masking.part == Part::kMasked && masking.sign < 0 && op.inputs().size() == 1;
  }

  Masking ResultOf(const Op& op) {
    const absl::string_view name = onnx::NativeName(op.def());
    if (op.def().opaque || !op.SubBlocks().empty()) return {};
    if (name == "where" && op.inputs().size() == 3) return Chosen(*op.inputs()[1], *op.inputs()[2]);
    if (name == "elementwise_add") return Sum(*op.inputs()[0], *op.inputs()[1], 1);
    if (name == "elementwise_sub") return Sum(*op.inputs()[0], *op.inputs()[1], -1);
    if (name == "elementwise_mul") return Product(*op.inputs()[0], *op.inputs()[1]);
    const bool moves = MovesValues(op) && !op.HasTrait(OpTrait::kSelection) && NumFloats(op) == 1;
    return moves ? Of(*op.inputs()[0]) : Masking();
  }

  // `part` with the constants of both; nothing where they are too many.
  static Masking Both(Part part, const Masking& a, const Masking& b) {
    Masking out{part, a.sign, a.sources};
    for (const int id : b.sources) {
      if (std::find(out.sources.begin(), out.sources.end(), id) == out.sources.end()) out.sources.push_back(id);
    }
    return out.sources.size() > kMostSources ? Masking() : out;
  }

  // Elements of one or the other.
  Masking Chosen(const Var& x, const Var& y) {
    const Masking a = Of(x), b = Of(y);
    if (a.part != Part::kNone && b.part != Part::kNone) {
      if (a.sign != b.sign) return {};
      const bool masked = a.part == Part::kMasked || b.part == Part::kMasked;
      return Both(a.part == b.part ? a.part : masked ? Part::kMasked : Part::kMask, a, b);
    }
    Masking out = a.part != Part::kNone ? a : b;
    const Var& other = a.part != Part::kNone ? y : x;
    if (out.part != Part::kMasked && IsZero(other)) {
      out.part = Part::kMask;
      return out;
    }
    return Bounded(other, false, std::move(out));
  }

  // x + sign * y.
  Masking Sum(const Var& x, const Var& y, int sign) {
    const Masking a = Of(x), b = Of(y);
    if (a.part != Part::kNone && b.part != Part::kNone) return {};  // twice the constant is beyond the range again
    Masking out = a.part != Part::kNone ? a : b;
    if (out.part == Part::kMasked) return {};
    if (a.part == Part::kNone) out.sign *= sign;
    return Bounded(a.part != Part::kNone ? y : x, true, std::move(out));
  }

  // By whole numbers, which are 0 or 1, or 0 or -1.
  Masking Product(const Var& x, const Var& y) {
    const Masking a = Of(x), b = Of(y);
    if ((a.part != Part::kNone) == (b.part != Part::kNone)) return {};
    Masking out = a.part != Part::kNone ? a : b;
    const Var& factor = a.part != Part::kNone ? y : x;
    const Fact& fact = facts_.Of(factor);
    const Bounds& bounds = fact.measured;
    if (out.part == Part::kMasked || !IsWhole(factor) || bounds.Magnitude() > 1 || bounds.low * bounds.high < 0) return {};
    if (bounds.low < 0) out.sign = -out.sign;
    if (fact.bounds.Magnitude() > 1 || fact.bounds.low * fact.bounds.high < 0) measured_.insert(out.sources.begin(), out.sources.end());
    out.part = Part::kMask;
    return out;
  }

  // With the scores `x`, to which the constants are added, or which they replace.
  Masking Bounded(const Var& x, bool added, Masking out) {
    const Fact& fact = facts_.Of(x);
    const double bound = fact.measured.Magnitude();
    // The largest score and the smallest lie 2 * bound apart, what is added to a masked one is as much again.
    if (!(3 * bound + kExpIsZero < facts_.largest() / 2)) return {};
    for (const int id : out.sources) {
      Reach& reach = reach_[id];
      reach.scores = std::max(reach.scores, bound);
      if (added) reach.added = std::max(reach.added, bound);
      if (!(fact.bounds.Magnitude() <= bound)) measured_.insert(id);
    }
    out.part = Part::kMasked;
    return out;
  }

  bool IsZero(const Var& var) const {
    const Bounds& bounds = facts_.Of(var).bounds;
    return bounds.low == 0 && bounds.high == 0;
  }

  // Made of integers, booleans and whole constants, by what keeps them whole.
  bool IsWhole(const Var& var) const {
    int left = kMostWholes;
    return IsWhole(var, &left);
  }
  bool IsWhole(const Var& var, int* left) const {
    const Var& root = facts_.flow().Root(var);
    if (!root.type.IsFloat()) return true;
    if (IsStored(root)) {
      const std::vector<float> values = OriginalFloats(root, kMostVectorElements);
      return !values.empty() && std::all_of(values.begin(), values.end(), [](float v) { return v == std::round(v); });
    }
    const Op* maker = facts_.flow().Maker(root);
    if (maker == nullptr || (*left)-- == 0) return false;
    const absl::string_view name = onnx::NativeName(maker->def());
    const bool whole = MovesValues(*maker) || name == "elementwise_add" || name == "elementwise_sub" || name == "elementwise_mul";
    return whole && std::all_of(maker->inputs().begin(), maker->inputs().end(), [&](const Var* in) { return IsWhole(*in, left); });
  }

  const Facts& facts_;
  std::vector<Masking> masking_;  // by Var::id of roots
  absl::flat_hash_set<int> asked_, failed_, measured_;
  MaskConstants found_;
  std::map<int, Reach> reach_;  // by Var::id
};

bool HasCandidates(const Facts& facts) {
  bool any = false;
  ForEachVar(facts.flow().program(), [&](const Var& var) { any = any || (IsStored(var) && facts.LossOfStored(var) == Loss::kOverflows); });
  return any;
}

}  // namespace

MaskConstants FindMasks(Facts& facts) {
  if (!HasCandidates(facts)) return {};
  facts.Find(nullptr, nullptr);
  return MaskFinder(facts).Run();
}

void StoreMasks(const MaskConstants& masks, const Program& program, AmpDecision* decision) {
  const CastRoots roots(program);
  std::map<int, std::vector<int>> of_value;  // constants, by Var::id
  for (const auto& [id, mask] : masks) {
    for (const int value : mask.values) of_value[value].push_back(id);
  }
  const auto store = [&](const MaskConstant& mask, int id, OpDecision& d) {
    decision->masks.emplace(id, mask);
    decision->low_param.resize(std::max(decision->low_param.size(), static_cast<size_t>(id) + 1));
    decision->low_param[id] = true;
    if (AmpDecision::Has(decision->copy_param, id)) decision->copy_param[id] = false;
    d.rule = "mask";
    d.reason = decision->Keep(mask.why);
  };
  ForEachOp(program, [&](const Op& op) {
    if (IsInserted(op) || !decision->For(op).low) return;
    for (const Var* var : op.inputs()) {
      const auto it = of_value.find(roots.Root(*var).id());
      if (it == of_value.end()) continue;
      for (const int id : it->second) store(masks.at(id), id, decision->ops[op.id()]);
    }
  });
}

}  // namespace ampc
