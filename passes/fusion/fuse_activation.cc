#include "passes/fusion/fuse_activation.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_registry.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/pattern.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// The activation that an op is the last step of.
struct Found {
  const char* type = nullptr;  // null: nothing
  Var* x = nullptr;
  const char* attr = nullptr;  // one that has not its default
  AttrValue value = {};
};

// Equal but for the rounding of a constant of this type.
bool IsNear(double value, double wanted, DType dtype) {
  const double part = dtype == DType::kBF16 ? 4e-3 : dtype == DType::kF16 ? 5e-4 : 1e-5;
  return std::abs(value - wanted) <= part * std::abs(wanted);
}

class ActivationFuser {
 public:
  explicit ActivationFuser(Program& program) : rewrite_(program) {}

  bool Run() {
    return rewrite_.Run([this](const Op& op) {
      if (op.outputs().size() != 1 || !IsFusedType(op.outputs()[0]->type.dtype)) return false;
      const Found found = Find(op);
      if (found.type == nullptr) return false;
      Var* x = pattern_.InType(found.x, op.outputs()[0]->type.dtype);
      if (x == nullptr) return false;
      std::unique_ptr<Op> fused = Rewrite::NewOp(Ops().Find(found.type), op);
      fused->SetInputs(0, {&x, 1});
      fused->SetOutputs(0, op.outputs());
      if (found.attr != nullptr) fused->SetAttr(found.attr, found.value);
      rewrite_.Replace(op, std::move(fused));
      return true;
    });
  }

 private:
  // A product of factors that nothing else reads: numbers and at most two values.
  struct Factors {
    double number = 1;
    std::vector<Var*> values;
  };

  // Takes products apart, `var` being an operand of `reader`.
  void Collect(Var* var, const Op& reader, int depth, Factors* out) const {
    const Op* product = depth == 0 ? nullptr : pattern_.Producer(*var, reader, {"elementwise_mul", "elementwise_div", "scale"});
    if (product == nullptr || !CollectProduct(*product, depth - 1, out)) out->values.push_back(var);
  }
  bool CollectProduct(const Op& product, int depth, Factors* out) const {
    if (const std::optional<Pattern::WithNumber> scaled = Pattern::Scaled(product)) {
      out->number *= scaled->number;
      Collect(scaled->x, product, depth, out);
      return true;
    }
    if (product.type() != "elementwise_mul" || product.inputs().size() != 2) return false;
    for (Var* operand : product.inputs()) Collect(operand, product, depth, out);
    return true;
  }

  // A clip from 0 is relu6, or relu where it has no upper end.
  static Found FindClip(const Op& op) {
    const std::optional<Pattern::Ends> ends = Pattern::ClipEnds(op);
    if (!ends.has_value() || ends->low != 0 || !(ends->high > 0)) return {};
    if (std::isinf(ends->high)) return {"relu", op.input("X")};
    return {"relu6", op.input("X"), "threshold", static_cast<float>(ends->high)};
  }

  Found Find(const Op& op) const {
    if (op.type() == "clip") return FindClip(op);
    Factors product;
    if (!CollectProduct(op, 2, &product) || product.values.size() != 2) return {};
    for (int i : {0, 1}) {
      const Found found = FindGate(op, product.number, *product.values[i], product.values[1 - i]);
      if (found.type != nullptr) return found;
    }
    return {};
  }

  // number * gate * x.
  Found FindGate(const Op& last, double number, const Var& gate, Var* x) const {
    // The op that multiplies it is the gate's only reader.
    const Op* op = pattern_.Producer(gate, last, {"sigmoid", "hard_sigmoid", "relu6", "clip", "elementwise_add", "scale", "tanh"});
    if (op == nullptr) return {};
    const DType dtype = last.outputs()[0]->type.dtype;
    if (op->type() == "sigmoid" && number == 1) return FindSwish(*op, x);
    if (op->type() == "tanh" && number == 1) return IsSoftplus(*op->inputs()[0], *op, x) ? Found{"mish", x} : Found{};
    if (op->type() == "hard_sigmoid" && number == 1 && pattern_.Same(op->inputs()[0], x) &&
        IsNear(op->GetFloat("slope"), 1.0 / 6, DType::kF32) && op->GetFloat("offset") == 0.5) {
      return {"hard_swish", x};
    }
    if (IsNear(number, 1.0 / 6, dtype) && IsZeroToSix(*op) && IsShifted(*op->inputs()[0], *op, 3, x)) return {"hard_swish", x};
    if (!IsNear(number, 0.5, dtype)) return {};
    if (IsErfPlusOne(*op, x)) return {"gelu", x};
    return IsTanhPlusOne(*op, x, dtype) ? Found{"gelu", x, "approximate", true} : Found{};
  }

  // sigmoid(beta * x).
  Found FindSwish(const Op& sigmoid, Var* x) const {
    Var* operand = sigmoid.inputs()[0];
    if (pattern_.Same(operand, x)) return {"swish", x};
    const std::optional<Pattern::WithNumber> scaled = ScaledBehind(*operand, sigmoid);
    if (!scaled.has_value() || !pattern_.Same(scaled->x, x)) return {};
    return {"swish", x, "beta", static_cast<float>(scaled->number)};
  }

  bool IsSoftplus(const Var& var, const Op& reader, Var* x) const {
    const Op* op = pattern_.Producer(var, reader, {"softplus"});
    return op != nullptr && op->GetFloat("beta") == 1 && op->GetFloat("threshold") >= 20 && pattern_.Same(op->inputs()[0], x);
  }

  // The product with a number that makes `var`, which `reader` alone reads.
  std::optional<Pattern::WithNumber> ScaledBehind(const Var& var, const Op& reader) const {
    const Op* op = pattern_.Producer(var, reader, {"elementwise_mul", "elementwise_div", "scale"});
    return op == nullptr ? std::nullopt : Pattern::Scaled(*op);
  }
  // The same for sums.
  std::optional<Pattern::WithNumber> ShiftedBehind(const Var& var, const Op& reader) const {
    const Op* op = pattern_.Producer(var, reader, {"elementwise_add", "scale"});
    return op == nullptr ? std::nullopt : Pattern::Shifted(*op);
  }

  static bool IsZeroToSix(const Op& op) {
    if (op.type() == "relu6") return op.GetFloat("threshold", 6) == 6;
    const std::optional<Pattern::Ends> ends = op.type() == "clip" ? Pattern::ClipEnds(op) : std::nullopt;
    return ends.has_value() && ends->low == 0 && ends->high == 6;
  }

  bool IsShifted(const Var& var, const Op& reader, double by, Var* x) const {
    const std::optional<Pattern::WithNumber> shifted = ShiftedBehind(var, reader);
    return shifted.has_value() && shifted->number == by && pattern_.Same(shifted->x, x);
  }

  bool IsErfPlusOne(const Op& sum, Var* x) const {
    const std::optional<Pattern::WithNumber> shifted = Pattern::Shifted(sum);
    if (!shifted.has_value() || shifted->number != 1) return false;
    const Op* erf = pattern_.Producer(*shifted->x, sum, {"erf"});
    const std::optional<Pattern::WithNumber> scaled = erf == nullptr ? std::nullopt : ScaledBehind(*erf->inputs()[0], *erf);
    return scaled.has_value() && pattern_.Same(scaled->x, x) && std::abs(scaled->number - std::sqrt(0.5)) < 1e-3;
  }

  // tanh(root * (x + part * x^3)) + 1 or tanh(root * x * (part * x^2 + 1)) + 1, as the approximation of gelu has it.
  bool IsTanhPlusOne(const Op& sum, Var* x, DType dtype) const {
    constexpr double kRoot = 0.79788456, kPart = 0.044715;
    const std::optional<Pattern::WithNumber> shifted = Pattern::Shifted(sum);
    if (!shifted.has_value() || shifted->number != 1) return false;
    const Op* tanh = pattern_.Producer(*shifted->x, sum, {"tanh"});
    if (tanh == nullptr) return false;
    Factors inner;
    Collect(tanh->inputs()[0], *tanh, 2, &inner);
    if (!IsNear(inner.number, kRoot, dtype)) return false;
    if (inner.values.size() == 1) {
      const Op* add = pattern_.Producer(*inner.values[0], *tanh, {"elementwise_add"});
      if (add == nullptr || add->inputs().size() != 2) return false;
      const int own = pattern_.Same(add->inputs()[0], x) ? 0 : 1;
      return pattern_.Same(add->inputs()[own], x) && IsPower(add->inputs()[1 - own], *add, 3, kPart, x, dtype);
    }
    if (inner.values.size() != 2) return false;
    const int own = pattern_.Same(inner.values[0], x) ? 0 : 1;
    const std::optional<Pattern::WithNumber> one = ShiftedBehind(*inner.values[1 - own], *tanh);
    return pattern_.Same(inner.values[own], x) && one.has_value() && one->number == 1 && IsPower(one->x, *tanh, 2, kPart, x, dtype);
  }

  // Whether `var` is part * x^exponent.
  bool IsPower(Var* var, const Op& reader, int exponent, double part, Var* x, DType dtype) const {
    Factors product;
    Collect(var, reader, 3, &product);
    if (!IsNear(product.number, part, dtype)) return false;
    int found = 0;
    for (Var* value : product.values) {
      const Op* power = pattern_.Producer(*value, reader, {"pow", "square"});
      const bool squared = power != nullptr && power->type() == "square";
      found += power == nullptr || power->inputs().size() != 1 ? 1 : squared ? 2 : static_cast<int>(power->GetFloat("factor", 1));
      if (!pattern_.Same(power == nullptr ? value : power->inputs()[0], x)) return false;
      if (power != nullptr && !squared && power->GetFloat("factor", 1) != 2 && power->GetFloat("factor", 1) != 3) return false;
    }
    return found == exponent;
  }

  Rewrite rewrite_;
  Pattern pattern_ = Pattern(rewrite_.uses());
};

}  // namespace

PassInfo FuseActivationPass() {
  return SimplePass("fuse-activation", "turns activations that are spelt out into one op each",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ActivationFuser(program).Run(); });
}

}  // namespace ampc
