// Central moments that are computed as a difference of moments: E[x y] - E[x] E[y]. Both are as large as the squared mean, the difference
// is not, so that what their rounding loses may be all of it.
//
//   variance in a window (SSIM)             pool(x * x) - pool(x) * pool(x), and with a blur in the place of the pool
//   variance with weights (attentive pooling)   sum(a * x * x) - sum(a * x)^2
//
// Products of them, as in SSIM, are as large as the fourth power of a value, up to the quotient of two.
#include <algorithm>
#include <vector>

#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/thresholds.h"
#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

// A value as a product of others, with the ops that multiply.
struct Factors {
  std::vector<int> of;  // Var::id of roots, one for each factor
  std::vector<const Op*> ops;
  std::vector<const Var*> vars;  // the factors
};

class Moments {
 public:
  explicit Moments(const Visit& v) : facts_(v.facts) {}

  // The sums and products that make `var` of means and constants alone; none for what is made of anything else.
  std::vector<const Op*> MadeOfMeans(const Var& var) {
    std::vector<const Op*> made;
    std::vector<const Var*> todo = {&var};
    while (!todo.empty()) {
      const Var& next = facts_.flow().Root(*todo.back());
      todo.pop_back();
      if (facts_.IsFixed(next)) continue;
      const Op* maker = facts_.flow().Maker(next);
      if (maker == nullptr) return {};
      if (IsAverage(*maker)) continue;
      if (!IsArithmetic(*maker) && !IsSquare(*maker)) return {};
      if (made.size() == kMostMoments) return {};
      made.push_back(maker);
      todo.insert(todo.end(), maker->inputs().begin(), maker->inputs().end());
    }
    return made;
  }
  static bool IsArithmetic(const Op& op) { return op.HasTrait(OpTrait::kArithmetic) || op.HasTrait(OpTrait::kAffine); }

  // Does the op take a product of two means from the mean of a product of the same values? Which ops do all that.
  bool Find(const Op& op, std::vector<const Op*>* ops) {
    const bool difference = onnx::NativeName(op.def()) == "elementwise_sub" && op.inputs().size() == 2;
    if (!difference) return false;
    const Op* average = AverageOf(*op.inputs()[0]);
    if (average == nullptr) return false;
    const Factors product = FactorsOf(*average->inputs()[0]);
    const Factors means = FactorsOf(*op.inputs()[1]);
    if (product.of.size() < 2 || means.of.size() != 2) return false;
    std::vector<int> left = product.of;
    for (const Var* mean : means.vars) {
      const Op* of_mean = AverageOf(*mean);
      if (of_mean == nullptr || !TakeOne(*of_mean, &left)) return false;
    }
    ops_.insert(ops_.end(), product.ops.begin(), product.ops.end());
    ops_.insert(ops_.end(), means.ops.begin(), means.ops.end());
    ops_.push_back(&op);
    *ops = std::move(ops_);
    return true;
  }

 private:
  // The operand of the mean is a factor of the product, too. One is taken from `left`, so that a square needs it twice. The weights of the
  // mean may come again.
  bool TakeOne(const Op& average, std::vector<int>* left) {
    const Factors factors = FactorsOf(*average.inputs()[0]);
    for (auto it = factors.of.rbegin(); it != factors.of.rend(); ++it) {
      const auto at = std::find(left->begin(), left->end(), *it);
      if (at == left->end()) continue;
      left->erase(at);
      ops_.insert(ops_.end(), factors.ops.begin(), factors.ops.end());
      return true;
    }
    return false;
  }

  // The op that averages or adds up many elements and gives `var`, moved and scaled; null for none.
  const Op* AverageOf(const Var& var) {
    const Var* at = &var;
    for (int moves = 0; moves < kMostMoves; ++moves) {
      const Op* maker = facts_.flow().Maker(*at);
      if (maker == nullptr || maker->inputs().empty()) return nullptr;
      ops_.push_back(maker);
      if (IsAverage(*maker)) return maker;
      at = OnlyOperand(*maker);
      if (at == nullptr) return nullptr;
    }
    return nullptr;
  }

  bool IsAverage(const Op& op) const {
    const absl::string_view name = onnx::NativeName(op.def());
    if (name == "pool2d" || name == "pool3d") return op.GetString("pooling_type", "avg") == "avg";
    if (op.HasTrait(OpTrait::kSum)) return true;
    // A window of weights, as a blur is; a layer of a network gives no mean of which anything is taken.
    const bool convolution = name == "depthwise_conv2d" || name == "conv2d" || name == "conv3d";
    return convolution && op.inputs().size() >= 2 && facts_.IsFixed(*op.inputs()[1]);
  }

  // Of what moves or scales its operand.
  const Var* OnlyOperand(const Op& op) const {
    if (MovesValues(op) || op.HasTrait(OpTrait::kAffine)) return op.inputs()[0];
    const bool scales = op.inputs().size() == 2 && (op.HasTrait(OpTrait::kProduct) || op.HasTrait(OpTrait::kDivision));
    if (!scales) return nullptr;
    if (facts_.IsFixed(*op.inputs()[1])) return op.inputs()[0];
    return op.HasTrait(OpTrait::kProduct) && facts_.IsFixed(*op.inputs()[0]) ? op.inputs()[1] : nullptr;
  }

  bool IsSquare(const Op& op) const {
    if (op.type() == "square") return true;
    if (!op.HasTrait(OpTrait::kPower)) return false;
    if (op.inputs().size() < 2) return op.GetFloat("factor") == 2;
    const Bounds& exponent = facts_.Of(*op.inputs()[1]).bounds;
    return exponent.low == 2 && exponent.high == 2;
  }

  Factors FactorsOf(const Var& var) const {
    constexpr size_t kMostFactors = 4;
    Factors found;
    std::vector<const Var*> todo = {&var};
    while (!todo.empty()) {
      const Var& next = facts_.flow().Root(*todo.back());
      todo.pop_back();
      const Op* maker = found.of.size() + todo.size() < kMostFactors ? facts_.flow().Maker(next) : nullptr;
      const bool square = maker != nullptr && IsSquare(*maker);
      if (square || (maker != nullptr && maker->HasTrait(OpTrait::kProduct) && maker->inputs().size() == 2)) {
        found.ops.push_back(maker);
        todo.push_back(maker->inputs()[0]);
        todo.push_back(maker->inputs()[square ? 0 : 1]);
      } else if (!facts_.IsFixed(next)) {
        found.of.push_back(next.id());
        found.vars.push_back(&next);
      }
    }
    return found;
  }

  const Facts& facts_;
  std::vector<const Op*> ops_;
};

}  // namespace

Effect MomentRule(Visit& v) {
  std::vector<const Op*> ops;
  if (!v.HasFloatResult()) return Effect::kNone;
  if (Moments(v).Find(v.op, &ops)) {
    for (const Op* op : ops) v.MarkOther(*op);
    v.Give(Fact::kMoment);
    return Effect::kStarts;
  }
  if (!v.Reads(Fact::kMoment)) return Effect::kNone;
  if (!Moments::IsArithmetic(v.op)) return Effect::kEnds;
  v.Mark();
  if (v.Is(OpTrait::kDivision)) return Effect::kEnds;
  for (const Var* var : v.op.inputs()) {
    if (!v.Is(OpTrait::kProduct) || v.Has(*var, Fact::kMoment)) continue;
    for (const Op* op : Moments(v).MadeOfMeans(*var)) v.MarkOther(*op);
  }
  v.Give(Fact::kMoment);
  return Effect::kPasses;
}

}  // namespace ampc
