#include "passes/fusion/fuse_attention.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_registry.h"
#include "graph/ops/fused_moves.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/pattern.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class AttentionFuser {
 public:
  explicit AttentionFuser(Program& program) : rewrite_(program), def_(Ops().Find("fused_attention")) {}

  bool Run() {
    return rewrite_.Run([this](const Op& op) {
      Attention a;
      if (op.type() != "softmax" || !Match(op, &a)) return false;
      rewrite_.Replace(*a.values, Make(a));
      return true;
    });
  }

 private:
  struct Attention {
    const Op* scores = nullptr;  // the product of queries and keys
    const Op* values = nullptr;  // that with V
    Var *q = nullptr, *k = nullptr, *mask = nullptr;
    double scale = 1;
    bool nan_to_zero = false;  // weights that are NaN count as zero
  };

  // A product of stacks of matrices, the second of which may be transposed.
  static bool IsProduct(const Op& op, bool may_transpose) {
    if (op.type() != "matmul_v2" || ops::HasFusedMoves(op)) return false;
    if (op.GetBool("trans_x") || (op.GetBool("trans_y") && !may_transpose)) return false;
    const TensorType &x = op.inputs()[0]->type, &y = op.inputs()[1]->type;
    return x.has_rank && y.has_rank && x.rank() == y.rank() && x.rank() >= 2 && IsFusedType(x.dtype) && x.dtype == y.dtype;
  }

  // Whether `var`, which `reader` reads, is a product of queries and keys, times a number perhaps.
  bool MatchScores(Var* var, const Op& reader, Attention* a) const {
    const Op* op = pattern_.Producer(*var, reader, {"matmul_v2", "elementwise_mul", "elementwise_div", "scale"});
    if (op == nullptr || !IsFusedType(var->type.dtype)) return false;
    if (op->type() == "matmul_v2") {
      a->scores = op;
      return IsProduct(*op, true);
    }
    const std::optional<Pattern::WithNumber> scaled = Pattern::Scaled(*op);
    if (!scaled.has_value() || a->scale != 1 || scaled->x->type.rank() != var->type.rank()) return false;
    a->scale = scaled->number;
    return MatchScores(scaled->x, *op, a);
  }

  // The same with a mask.
  bool MatchMasked(Var* var, const Op& reader, Attention* a) const {
    const Op* add = pattern_.Producer(*var, reader, {"elementwise_add"});
    if (add == nullptr) return MatchScores(var, reader, a);
    if (add->GetInt("axis", -1) != -1) return false;
    for (int i : {0, 1}) {
      Attention with = *a;
      Var* const mask = add->inputs()[1 - i];
      const bool fits = mask->type.has_rank && mask->type.rank() <= var->type.rank() && IsFusedType(mask->type.dtype);
      if (!fits || !MatchScores(add->inputs()[i], *add, &with)) continue;
      *a = with;
      a->mask = mask;
      return true;
    }
    return false;
  }

  // Queries and keys without the numbers that each is multiplied by.
  void TakeFactors(Attention* a) const {
    a->q = a->scores->inputs()[0];
    a->k = a->scores->inputs()[1];
    for (Var** side : {&a->q, &a->k}) {
      const Op* product = pattern_.Producer(**side, *a->scores, {"elementwise_mul", "elementwise_div", "scale"});
      const std::optional<Pattern::WithNumber> scaled = product == nullptr ? std::nullopt : Pattern::Scaled(*product);
      Var* x = scaled.has_value() ? pattern_.InType(scaled->x, (*side)->type.dtype) : nullptr;
      if (x == nullptr || x->type.rank() != (*side)->type.rank()) continue;
      *side = x;
      a->scale *= scaled->number;
    }
  }

  bool IsZero(const Var& var, const Op& reader) const {
    if (Pattern::Number(var) == 0) return true;
    const Op* repeated = pattern_.Producer(var, reader, {"expand_as_v2", "expand_v2"}, false);
    return repeated != nullptr && Pattern::Number(*repeated->inputs()[0]) == 0;
  }

  // where(isnan(p), 0, p), the weights of a row without any position; null where that is not what reads p.
  const Var* WithoutNan(Var* p) const {
    const std::optional<std::vector<Op*>> readers = pattern_.ReadersBehindCasts(*p);
    if (!readers.has_value() || readers->size() != 2) return nullptr;
    const Op *nan = (*readers)[0], *where = (*readers)[1];
    if (nan->type() != "isnan_v2" || where->type() != "where" || where->input("Condition") != nan->outputs()[0]) return nullptr;
    const std::optional<std::vector<Op*>> asked = pattern_.ReadersBehindCasts(*nan->outputs()[0]);
    const auto of_shape = [where](const Op* op) { return op == where || op->type() == "expand_as_v2"; };
    if (!asked.has_value() || !std::all_of(asked->begin(), asked->end(), of_shape) || !IsZero(*where->input("X"), *where)) return nullptr;
    return pattern_.Same(where->input("Y"), p) ? where->outputs()[0] : nullptr;
  }

  // The product that alone reads the weights that the softmax gives, as its first factor.
  const Op* ValuesOf(const Op& softmax, bool* nan_to_zero) const {
    const Var* p = WithoutNan(softmax.outputs()[0]);
    *nan_to_zero = p != nullptr;
    if (p == nullptr) p = softmax.outputs()[0];
    const Op* reader = rewrite_.OnlyReader(*p);
    while (reader != nullptr && IsFloatCast(*reader)) {
      p = reader->outputs()[0];
      reader = rewrite_.OnlyReader(*p);
    }
    return reader != nullptr && IsProduct(*reader, false) && reader->inputs()[0] == p ? reader : nullptr;
  }

  bool Match(const Op& softmax, Attention* a) const {
    const TensorType& x = softmax.inputs()[0]->type;
    if (def_ == nullptr || !x.has_rank || !IsFusedType(x.dtype)) return false;
    const int64_t axis = softmax.GetInt("axis", -1);
    if (axis != -1 && axis != x.rank() - 1) return false;
    a->values = ValuesOf(softmax, &a->nan_to_zero);
    if (a->values == nullptr || !MatchMasked(softmax.inputs()[0], softmax, a)) return false;
    TakeFactors(a);
    const Var &q = *a->q, &v = *a->values->inputs()[1];
    return q.type.rank() == x.rank() && v.type.rank() == x.rank() && q.type.dtype == v.type.dtype &&
           a->values->outputs()[0]->type.dtype == q.type.dtype;
  }

  std::unique_ptr<Op> Make(const Attention& a) const {
    std::unique_ptr<Op> op = Rewrite::NewOp(def_, *a.values);
    const auto set = [&](const char* slot, Var* var) { op->SetInputs(def_->InputSlot(slot), {&var, 1}); };
    set("Q", a.q);
    set("K", a.k);
    set("V", a.values->inputs()[1]);
    if (a.mask != nullptr) set("Mask", a.mask);
    Var* const y = a.values->outputs()[0];
    op->SetOutputs(0, {&y, 1});
    op->SetAttr("scale", static_cast<float>(a.scale));
    op->SetAttr("trans_k", a.scores->GetBool("trans_y"));
    if (a.nan_to_zero) op->SetAttr("nan_to_zero", true);
    return op;
  }

  Rewrite rewrite_;
  Pattern pattern_ = Pattern(rewrite_.uses());
  const OpDef* def_;
};

}  // namespace

PassInfo FuseAttentionPass() {
  return SimplePass("fuse-attention", "turns products around a softmax into one op each",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return AttentionFuser(program).Run(); });
}

}  // namespace ampc
