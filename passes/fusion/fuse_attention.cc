#include "passes/fusion/fuse_attention.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
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
  explicit AttentionFuser(Program& program) : rewrite_(program), def_(Ops().Find("fused_attention")) {
    ForEachOp(program, [&](const Op& op) {
      const int at = static_cast<int>(position_.size());
      position_.emplace(&op, at);
      AddWrites(program, op, at);
    });
  }

  bool Run() {
    return rewrite_.Run([this](const Op& op) {
      Attention a;
      if (op.type() != "softmax" || !Match(op, &a)) return false;
      Replace(a);
      return true;
    });
  }

 private:
  struct Attention {
    const Op* scores = nullptr;  // the product of queries and keys
    const Op* values = nullptr;  // that with V
    Var *q = nullptr, *k = nullptr, *mask = nullptr;
    bool trans_k = false;
    double scale = 1;
    bool nan_to_zero = false;  // weights that are NaN count as zero
    // A mask of windows, [.., windows, 1, rows, positions], and the dims of scores that are windows of images; null and empty for none.
    Var* window_mask = nullptr;
    Dims windows;
  };

  // A product of stacks of matrices, the second of which may be transposed.
  static bool IsProduct(const Op& op, bool may_transpose) {
    if (op.type() != "matmul_v2" || ops::HasFusedMoves(op)) return false;
    if (op.GetBool("trans_x") || (op.GetBool("trans_y") && !may_transpose)) return false;
    const TensorType &x = op.inputs()[0]->type, &y = op.inputs()[1]->type;
    return x.has_rank && y.has_rank && x.rank() == y.rank() && x.rank() >= 2 && IsFusedType(x.dtype) && x.dtype == y.dtype;
  }

  // Of the op at `at` and of its bodies: a control op does not list the states that these overwrite.
  void AddWrites(const Program& program, const Op& op, int at) {
    for (const Var* var : op.outputs()) {
      if (var->kind != VarKind::kTemp) writers_[var].push_back(at);
    }
    for (int index : op.SubBlocks()) {
      for (const std::unique_ptr<Op>& inner : program.block(index).ops()) AddWrites(program, *inner, at);
    }
  }

  // Nothing overwrites `var`, which `reader` reads, before the op of `a` that the fused one replaces: that reads the same.
  bool Keeps(const Var& var, const Op& reader, const Attention& a) const {
    const auto at = writers_.find(&var);
    if (at == writers_.end()) return true;
    const auto next = std::lower_bound(at->second.begin(), at->second.end(), position_.at(&reader));
    return next == at->second.end() || *next >= position_.at(a.values);
  }

  // Whether `var`, which `reader` reads, is a product of queries and keys, times a number perhaps.
  bool MatchScores(Var* var, const Op& reader, Attention* a) const {
    const Op* op = pattern_.Producer(*var, reader, {"matmul_v2", "elementwise_mul", "elementwise_div", "scale"});
    if (op == nullptr || !IsFusedType(var->type.dtype)) return false;
    if (op->type() == "matmul_v2") {
      a->scores = op;
      return IsProduct(*op, true) && Keeps(*op->inputs()[0], *op, *a) && Keeps(*op->inputs()[1], *op, *a);
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
      const bool fits =
          mask->type.has_rank && mask->type.rank() <= var->type.rank() && IsFusedType(mask->type.dtype) && Keeps(*mask, *add, *a);
      if (!fits || !MatchScores(add->inputs()[i], *add, &with)) continue;
      *a = with;
      a->mask = mask;
      return true;
    }
    return false;
  }

  // The same where another mask is added to scores whose first dimension is two for that: images and their windows.
  bool MatchWindows(Var* var, const Op& reader, Attention* a) const {
    const Op* join = ReshapeBehind(*var, reader);
    const Op* add = join == nullptr ? nullptr : pattern_.Producer(*join->inputs()[0], *join, {"elementwise_add"});
    if (add == nullptr || add->GetInt("axis", -1) != -1) return MatchMasked(var, reader, a);
    const Dims& windows = add->outputs()[0]->type.dims;
    for (int i : {0, 1}) {
      const Op* split = ReshapeBehind(*add->inputs()[i], *add);
      Var* const mask = add->inputs()[1 - i];
      if (split == nullptr || split->outputs()[0]->type.dims != windows || !mask->type.has_rank || !IsFusedType(mask->type.dtype) ||
          !Keeps(*mask, *add, *a)) {
        continue;
      }
      Attention with = *a;
      if (mask->type.rank() > static_cast<int>(windows.size()) || !SplitsFirst(var->type.dims, windows) ||
          split->inputs()[0]->type.dims != var->type.dims || !MatchMasked(split->inputs()[0], *split, &with)) {
        continue;
      }
      if (with.mask != nullptr && (with.mask->type.dtype != mask->type.dtype || DiffersByWindow(*with.mask, var->type))) continue;
      *a = with;
      a->window_mask = mask;
      a->windows = windows;
      return true;
    }
    return false;
  }

  static bool DiffersByWindow(const Var& mask, const TensorType& scores) {
    return mask.type.rank() == scores.rank() && mask.type.dims[0] != 1;
  }

  const Op* ReshapeBehind(const Var& var, const Op& reader) const {
    const Op* op = pattern_.Producer(var, reader, {"reshape2"});
    return op != nullptr && op->inputs().size() == 1 && op->inputs()[0]->type.has_rank && var.type.has_rank ? op : nullptr;
  }

  // `two` is `one` with its first dimension as two, and known but for one of these.
  static bool SplitsFirst(const Dims& one, const Dims& two) {
    if (one.empty() || two.size() != one.size() + 1 || (!IsKnown(two[0]) && !IsKnown(two[1]))) return false;
    return std::equal(one.begin() + 1, one.end(), two.begin() + 2) && std::all_of(one.begin() + 1, one.end(), &IsKnown);
  }

  // The value `of`, or one that casts make of it, which may stand for `side` in the scores; null for none.
  Var* Behind(Var* of, const Var& side) const {
    Var* const x = pattern_.InType(of, side.type.dtype);
    return x != nullptr && x->type.rank() == side.type.rank() && !writers_.contains(x) ? x : nullptr;
  }

  void TakeFactor(Var** side, Attention* a) const {
    const Op* product = pattern_.Producer(**side, *a->scores, {"elementwise_mul", "elementwise_div", "scale"});
    const std::optional<Pattern::WithNumber> scaled = product == nullptr ? std::nullopt : Pattern::Scaled(*product);
    Var* const x = scaled.has_value() ? Behind(scaled->x, **side) : nullptr;
    if (x == nullptr) return;
    *side = x;
    a->scale *= scaled->number;
  }

  static bool SwapsLastTwo(const Op& transpose, int64_t rank) {
    const std::vector<int64_t> axes = transpose.GetInts("axis");
    if (rank < 2 || static_cast<int64_t>(axes.size()) != rank) return false;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t from = d < rank - 2 ? d : d == rank - 2 ? rank - 1 : rank - 2;
      if (axes[d] != from && axes[d] + rank != from) return false;
    }
    return true;
  }

  // Rows of a cache of keys need no copy for their product.
  void TakeTranspose(Attention* a) const {
    const Op* op = pattern_.Producer(*a->k, *a->scores, {"transpose", "transpose2"});
    Var* const x = op != nullptr && SwapsLastTwo(*op, a->k->type.rank()) ? Behind(op->inputs()[0], *a->k) : nullptr;
    if (x == nullptr) return;
    a->k = x;
    a->trans_k = !a->trans_k;
  }

  // Queries and keys without the numbers that each is multiplied by, and as they lie in memory.
  void TakeFactors(Attention* a) const {
    a->q = a->scores->inputs()[0];
    a->k = a->scores->inputs()[1];
    a->trans_k = a->scores->GetBool("trans_y");
    TakeFactor(&a->q, a);
    TakeFactor(&a->k, a);
    TakeTranspose(a);
    TakeFactor(&a->k, a);
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
    if (a->values == nullptr || !MatchWindows(softmax.inputs()[0], softmax, a)) return false;
    TakeFactors(a);
    const Var &q = *a->q, &v = *a->values->inputs()[1];
    if (a->window_mask != nullptr && !MaySplit({a->q, a->k, a->values->inputs()[1], a->values->outputs()[0]}, x.dims)) return false;
    return q.type.rank() == x.rank() && v.type.rank() == x.rank() && q.type.dtype == v.type.dtype &&
           a->values->outputs()[0]->type.dtype == q.type.dtype;
  }

  // Each has all windows, and known sizes behind them.
  static bool MaySplit(std::initializer_list<const Var*> vars, const Dims& scores) {
    return scores[0] != kUnknownDim && std::all_of(vars.begin(), vars.end(), [&scores](const Var* var) {
             const Dims& dims = var->type.dims;
             return dims.size() == scores.size() && dims[0] == scores[0] && std::all_of(dims.begin() + 1, dims.end(), &IsKnown);
           });
  }

  void Replace(const Attention& a) {
    Var* const y = a.values->outputs()[0];
    if (a.window_mask == nullptr) return rewrite_.Replace(*a.values, Make(a, a.q, a.k, a.values->inputs()[1], a.mask, y));
    Var* const q = Split(a, a.q);
    Var* const k = Split(a, a.k);
    Var* const v = Split(a, a.values->inputs()[1]);
    Var* const result = NewVar(a, y->type.dtype, Windows(a, *y));
    rewrite_.InsertBefore(*a.values, Make(a, q, k, v, a.mask == nullptr ? a.window_mask : SumOfMasks(a), result));
    rewrite_.Replace(*a.values, Reshape(a, result, y));
  }

  // The dims of `var` with windows apart.
  static Dims Windows(const Attention& a, const Var& var) {
    Dims dims = var.type.dims;
    dims[0] = a.windows[1];
    dims.insert(dims.begin(), a.windows[0]);
    return dims;
  }

  Var* Split(const Attention& a, Var* var) {
    Var* const split = NewVar(a, var->type.dtype, Windows(a, *var));
    rewrite_.InsertBefore(*a.values, Reshape(a, var, split));
    return split;
  }

  Var* SumOfMasks(const Attention& a) {
    const Dims &x = a.window_mask->type.dims, &y = a.mask->type.dims;
    Dims dims(std::max(x.size(), y.size()), 1);
    for (size_t d = 0; d < dims.size(); ++d) {
      const size_t behind = dims.size() - d;
      for (const Dims* part : {&x, &y}) {
        if (behind <= part->size() && (*part)[part->size() - behind] != 1) dims[d] = (*part)[part->size() - behind];
      }
    }
    const OpDef* def = Ops().Find("elementwise_add");
    Var* const sum = NewVar(a, a.mask->type.dtype, std::move(dims));
    std::unique_ptr<Op> op = Rewrite::NewOp(def, *a.values);
    op->SetInputs(def->InputSlot("X"), {&a.window_mask, 1});
    op->SetInputs(def->InputSlot("Y"), {&a.mask, 1});
    op->SetOutputs(0, {&sum, 1});
    rewrite_.InsertBefore(*a.values, std::move(op));
    return sum;
  }

  static Var* NewVar(const Attention& a, DType dtype, Dims dims) {
    return Rewrite::NewTemp(a.values->block(), absl::StrCat(a.values->outputs()[0]->name(), ".windows"), dtype, std::move(dims));
  }

  static std::unique_ptr<Op> Reshape(const Attention& a, Var* x, Var* y) {
    const OpDef* def = Ops().Find("reshape2");
    std::unique_ptr<Op> op = Rewrite::NewOp(def, *a.values);
    op->SetInputs(def->InputSlot("X"), {&x, 1});
    op->SetOutputs(def->OutputSlot("Out"), {&y, 1});
    std::vector<int32_t> shape;
    for (const int64_t d : y->type.dims) shape.push_back(IsKnown(d) ? static_cast<int32_t>(d) : -1);
    op->SetAttr("shape", std::move(shape));
    return op;
  }

  std::unique_ptr<Op> Make(const Attention& a, Var* q, Var* k, Var* v, Var* mask, Var* y) const {
    std::unique_ptr<Op> op = Rewrite::NewOp(def_, *a.values);
    const auto set = [&](const char* slot, Var* var) { op->SetInputs(def_->InputSlot(slot), {&var, 1}); };
    set("Q", q);
    set("K", k);
    set("V", v);
    if (mask != nullptr) set("Mask", mask);
    op->SetOutputs(0, {&y, 1});
    op->SetAttr("scale", static_cast<float>(a.scale));
    op->SetAttr("trans_k", a.trans_k);
    if (a.nan_to_zero) op->SetAttr("nan_to_zero", true);
    return op;
  }

  Rewrite rewrite_;
  Pattern pattern_ = Pattern(rewrite_.uses());
  const OpDef* def_;
  absl::flat_hash_map<const Op*, int> position_;               // block after block
  absl::flat_hash_map<const Var*, std::vector<int>> writers_;  // of what is no temp: the positions, in order
};

}  // namespace

PassInfo FuseAttentionPass() {
  return SimplePass("fuse-attention", "turns products around a softmax into one op each",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return AttentionFuser(program).Run(); });
}

}  // namespace ampc
