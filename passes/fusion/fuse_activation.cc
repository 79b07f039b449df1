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
  float threshold = 0;  // of relu6
};

class ActivationFuser {
 public:
  explicit ActivationFuser(Program& program) : rewrite_(program) {}

  bool Run() {
    return rewrite_.Run([this](const Op& op) {
      const Found found = Find(op);
      if (found.type == nullptr || found.x->type.dtype != op.outputs()[0]->type.dtype || !IsFusedType(found.x->type.dtype)) return false;
      std::unique_ptr<Op> fused = op.block().NewOp(Ops().Find(found.type));
      fused->SetInputs(0, {&found.x, 1});
      fused->SetOutputs(0, op.outputs());
      if (found.threshold != 0) fused->SetAttr("threshold", found.threshold);
      fused->marks = op.marks;
      fused->line = op.line;
      fused->lowered_from = op.lowered_from;
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
    return {"relu6", op.input("X"), static_cast<float>(ends->high)};
  }

  Found Find(const Op& op) const {
    if (op.type() == "clip") return FindClip(op);
    Factors product;
    if (op.outputs().size() != 1 || !op.outputs()[0]->type.IsFloat() || !CollectProduct(op, 2, &product) || product.values.size() != 2)
      return {};
    for (int i : {0, 1}) {
      const Found found = FindGate(op, product.number, *product.values[i], product.values[1 - i]);
      if (found.type != nullptr) return found;
    }
    return {};
  }

  // number * gate * x.
  Found FindGate(const Op& last, double number, const Var& gate, Var* x) const {
    // The op that multiplies it is the gate's only reader.
    const Op* op = gate.kind == VarKind::kTemp && uses_.single_use(gate) ? uses_.producer(gate) : nullptr;
    if (op == nullptr || &op->block() != &last.block()) return {};
    if (op->type() == "sigmoid" && number == 1 && op->inputs()[0] == x) return {"swish", x};
    if (op->type() == "hard_sigmoid" && number == 1 && op->inputs()[0] == x && IsNear(op->GetFloat("slope"), 1.0 / 6) &&
        op->GetFloat("offset") == 0.5) {
      return {"hard_swish", x};
    }
    if (IsNear(number, 1.0 / 6) && IsZeroToSix(*op) && IsShifted(*op->inputs()[0], *op, 3, *x)) return {"hard_swish", x};
    if (IsNear(number, 0.5) && IsErfPlusOne(*op, *x)) return {"gelu", x};
    return {};
  }

  static bool IsZeroToSix(const Op& op) {
    if (op.type() == "relu6") return op.GetFloat("threshold", 6) == 6;
    const std::optional<Pattern::Ends> ends = op.type() == "clip" ? Pattern::ClipEnds(op) : std::nullopt;
    return ends.has_value() && ends->low == 0 && ends->high == 6;
  }

  bool IsShifted(const Var& var, const Op& reader, double by, const Var& x) const {
    const Op* sum = pattern_.Producer(var, reader, {"elementwise_add", "scale"});
    const std::optional<Pattern::WithNumber> shifted = sum == nullptr ? std::nullopt : Pattern::Shifted(*sum);
    return shifted.has_value() && shifted->x == &x && shifted->number == by;
  }

  bool IsErfPlusOne(const Op& sum, const Var& x) const {
    const std::optional<Pattern::WithNumber> shifted = Pattern::Shifted(sum);
    if (!shifted.has_value() || shifted->number != 1) return false;
    const Op* erf = pattern_.Producer(*shifted->x, sum, {"erf"});
    const Op* scale =
        erf == nullptr ? nullptr : pattern_.Producer(*erf->inputs()[0], *erf, {"elementwise_mul", "elementwise_div", "scale"});
    const std::optional<Pattern::WithNumber> scaled = scale == nullptr ? std::nullopt : Pattern::Scaled(*scale);
    return scaled.has_value() && scaled->x == &x && std::abs(scaled->number - std::sqrt(0.5)) < 1e-3;
  }

  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
  Pattern pattern_ = Pattern(uses_);
};

}  // namespace

PassInfo FuseActivationPass() {
  return SimplePass("fuse-activation", "turns activations that are spelt out into one op each",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ActivationFuser(program).Run(); });
}

}  // namespace ampc
