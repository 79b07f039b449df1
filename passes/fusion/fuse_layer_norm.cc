#include "passes/fusion/fuse_layer_norm.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "graph/op_registry.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/pattern.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class LayerNormFuser {
 public:
  explicit LayerNormFuser(Program& program) : rewrite_(program) {}

  bool Run() {
    return rewrite_.Run([this](const Op& op) {
      Norm norm;
      if (op.type() != "elementwise_div" || !Match(op, &norm)) return false;
      const Op* last = Extend(op, &norm);
      if (last == nullptr) return false;
      rewrite_.Replace(*last, Make(norm, *last));
      return true;
    });
  }

 private:
  struct Norm {
    Var* x = nullptr;
    Var* averaged = nullptr;  // x, perhaps in another type
    Var* scale = nullptr;
    Var* bias = nullptr;
    double epsilon = 0;
    int begin = 0;  // the first normalised dimension
  };

  // The first of the last dims that `mean` averages over, keeping them; -1 where it does something else.
  static int FirstAveraged(const Op& mean) {
    const TensorType& x = mean.inputs()[0]->type;
    if (mean.inputs().size() != 1 || !x.has_rank || !mean.GetBool("keep_dim") || mean.GetBool("reduce_all")) return -1;
    std::vector<int64_t> dims = mean.GetInts("dim");
    for (int64_t& dim : dims) dim += dim < 0 ? x.rank() : 0;
    std::sort(dims.begin(), dims.end());
    const int begin = x.rank() - static_cast<int>(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != begin + static_cast<int64_t>(i)) return -1;
    }
    return dims.empty() ? -1 : begin;
  }

  bool IsSquareOf(const Op& square, Var* d) const {
    if (square.type() == "pow" && (square.inputs().size() != 1 || square.GetFloat("factor", 1) != 2)) return false;
    return std::all_of(square.inputs().begin(), square.inputs().end(), [&](Var* var) { return pattern_.Same(var, d); });
  }

  bool Match(const Op& div, Norm* norm) const {
    if (div.inputs().size() != 2) return false;
    const Op* root = pattern_.Producer(*div.inputs()[1], div, {"sqrt"});
    const Op* sum = root == nullptr ? nullptr : pattern_.Producer(*root->inputs()[0], *root, {"elementwise_add", "scale"});
    const std::optional<Pattern::WithNumber> shifted = sum == nullptr ? std::nullopt : Pattern::Shifted(*sum);
    if (!shifted.has_value() || shifted->number < 0) return false;
    const Op* variance = pattern_.Producer(*shifted->x, *sum, {"reduce_mean"});
    const Op* square =
        variance == nullptr ? nullptr : pattern_.Producer(*variance->inputs()[0], *variance, {"square", "pow", "elementwise_mul"});
    const Op* sub = pattern_.Producer(*div.inputs()[0], div, {"elementwise_sub"}, false);
    if (square == nullptr || sub == nullptr || sub->inputs().size() != 2) return false;
    const std::optional<std::vector<Op*>> readers = pattern_.ReadersBehindCasts(*sub->outputs()[0]);
    if (!IsSquareOf(*square, sub->outputs()[0]) || !readers.has_value() || readers->size() != 2) return false;
    const Op* mean = pattern_.Producer(*sub->inputs()[1], *sub, {"reduce_mean"});
    if (mean == nullptr || !pattern_.Same(mean->inputs()[0], sub->inputs()[0])) return false;
    norm->x = sub->inputs()[0];
    norm->averaged = mean->inputs()[0];
    norm->epsilon = shifted->number;
    norm->begin = FirstAveraged(*mean);
    return IsFusedType(norm->x->type.dtype) && norm->begin >= 1 && FirstAveraged(*variance) == norm->begin;
  }

  // The other operand of `op` if it is a constant with one element for each of the one normalised dimension.
  Var* PerElement(const Op& op, const Var& y, const Norm& norm) const {
    Var* other = Pattern::Other(op, y);
    if (other != nullptr) other = pattern_.BehindCasts(other);
    const TensorType& x = norm.x->type;
    if (other == nullptr || !other->type.IsStatic() || !x.has_rank || (other->kind != VarKind::kParam && other->kind != VarKind::kConst))
      return nullptr;
    if (!WrittenOnlyBy(uses_, *other, nullptr) || op.GetInt("axis", -1) != -1) return nullptr;
    const absl::Span<const int64_t> want = absl::MakeConstSpan(x.dims).subspan(norm.begin);
    const absl::Span<const int64_t> have = other->type.dims;
    return have == want && want.size() == 1 ? other : nullptr;
  }

  // The op that alone reads the result of `op`: a cast, or a product or sum behind the quotient, which it takes in; null for any other.
  const Op* Next(const Op& op, Norm* norm) const {
    const Var& y = *op.outputs()[0];
    const Op* next = rewrite_.OnlyReader(y);
    if (next == nullptr || IsFloatCast(*next)) return next;
    const bool product = next->type() == "elementwise_mul";
    if ((!product && next->type() != "elementwise_add") || norm->bias != nullptr || (product && norm->scale != nullptr)) return nullptr;
    Var* other = PerElement(*next, y, *norm);
    (product ? norm->scale : norm->bias) = other;
    return other == nullptr ? nullptr : next;
  }

  // The type of a value that stays fp32 beside a low one, or is of its type.
  static bool Fits(const Var* var, DType x) { return var == nullptr || var->type.dtype == x || var->type.dtype == DType::kF32; }

  // Takes in what follows the quotient, up to the last op in the type of whose result x is at hand, which it returns; null for none.
  const Op* Extend(const Op& div, Norm* norm) const {
    const Op* last = nullptr;
    Norm grown = *norm;
    for (const Op* op = &div; op != nullptr; op = Next(*op, &grown)) {
      const DType dtype = op->outputs()[0]->type.dtype;
      Var* x = pattern_.InType(grown.x, dtype);
      if (x == nullptr) x = pattern_.InType(grown.averaged, dtype);
      if (x == nullptr || !Fits(grown.scale, dtype) || !Fits(grown.bias, dtype)) continue;
      *norm = grown;
      norm->x = x;
      last = op;
    }
    return last;
  }

  static std::unique_ptr<Op> Make(const Norm& norm, const Op& last) {
    const OpDef* def = Ops().Find("layer_norm");
    std::unique_ptr<Op> op = Rewrite::NewOp(def, last);
    Var* y = last.outputs()[0];
    op->SetInputs(def->InputSlot("X"), {&norm.x, 1});
    if (norm.scale != nullptr) op->SetInputs(def->InputSlot("Scale"), {&norm.scale, 1});
    if (norm.bias != nullptr) op->SetInputs(def->InputSlot("Bias"), {&norm.bias, 1});
    op->SetOutputs(def->OutputSlot("Y"), {&y, 1});
    op->SetAttr("epsilon", static_cast<float>(norm.epsilon));
    op->SetAttr("begin_norm_axis", static_cast<int32_t>(norm.begin));
    return op;
  }

  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
  Pattern pattern_ = Pattern(uses_);
};

}  // namespace

PassInfo FuseLayerNormPass() {
  return SimplePass("fuse-layer-norm", "turns layer normalisations that are spelt out into one op each",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return LayerNormFuser(program).Run(); });
}

}  // namespace ampc
