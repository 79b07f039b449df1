#include "passes/fusion/fuse_bias_act.h"

#include <optional>
#include <utility>

#include "graph/op_registry.h"
#include "graph/ops/fused_moves.h"
#include "passes/analysis/shape_symbols.h"
#include "passes/analysis/use_def.h"
#include "passes/fusion/affine.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/conv.h"
#include "passes/fusion/pattern.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

bool IsMatrixProduct(const Op& op) { return op.type() == "matmul_v2" || op.type() == "mul" || op.type() == "fc"; }

struct Chain {
  Op* anchor = nullptr;
  Var* bias = nullptr;
  Var* residual = nullptr;
  const Op* act = nullptr;
  Affine scale{{1.0f}, {0.0f}};   // behind the activation
  std::vector<const Op*> merged;  // ops that go, in order
  Var* result() const { return merged.empty() ? nullptr : merged.back()->outputs()[0]; }
};

class BiasActFuser {
 public:
  explicit BiasActFuser(Program& program) : program_(program), rewrite_(program), shapes_(program), fc_(Ops().Find("fc")) {}

  bool Run() {
    const bool changed = rewrite_.Run([this](Op& op) {
      if (!IsConv(op) && !IsMatrixProduct(op)) return false;
      const Chain chain = Match(op);
      if (!chain.merged.empty()) Fuse(chain);
      return !chain.merged.empty();
    });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  // The longest chain that ends in the type of the anchor.
  Chain Match(Op& anchor) const {
    Chain grown, found;
    grown.anchor = found.anchor = &anchor;
    if (!CanAnchor(anchor)) return found;
    const DType dtype = anchor.outputs()[0]->type.dtype;
    Var* y = anchor.outputs()[0];
    while (Op* next = rewrite_.OnlyReader(*y)) {
      if (!IsFloatCast(*next) && !Take(*next, *y, &grown)) break;
      grown.merged.push_back(next);
      y = next->outputs()[0];
      const bool takes = grown.bias != nullptr || grown.residual != nullptr || grown.act != nullptr;
      if (takes && y->type.dtype == dtype) found = grown;
    }
    if (IsConv(anchor) && found.act != nullptr) AddScale(&found);
    return found;
  }

  // Whether `next`, which alone reads `y`, becomes part of the chain.
  bool Take(const Op& next, Var& y, Chain* chain) const {
    const Op& anchor = *chain->anchor;
    if (chain->act != nullptr || next.outputs().size() != 1 || next.outputs()[0]->type.dtype != y.type.dtype) return false;
    if (IsActivation(next)) {
      chain->act = &next;
      return true;
    }
    if (next.type() != "elementwise_add") return false;
    Var* other = next.inputs()[0] == &y ? next.inputs()[1] : next.inputs()[0];
    if (anchor.input("Bias") == nullptr && chain->bias == nullptr && chain->residual == nullptr && IsBias(anchor, next, y, *other)) {
      chain->bias = other;
      return true;
    }
    if (!IsConv(anchor) || anchor.input("ResidualData") != nullptr || chain->residual != nullptr) return false;
    if (!IsResidual(next, y, *other)) return false;
    chain->residual = pattern_.InType(other, anchor.outputs()[0]->type.dtype);
    return chain->residual != nullptr && Stable(*chain->residual);
  }

  // Products and sums with numbers that follow the activation.
  void AddScale(Chain* chain) const {
    const AffineChain behind = FindAffineChain(rewrite_, chain->result(), -1, -1);
    chain->scale = behind.all;
    for (const Op* op : behind.ops) chain->merged.push_back(op);
  }

  // The chain may move it down to its end, so its operands must be the same there.
  bool CanAnchor(const Op& op) const {
    if (op.outputs().size() != 1 || HasActivation(op) || !IsFusedType(op.outputs()[0]->type.dtype)) return false;
    for (const Var* var : op.inputs()) {
      if (!Stable(*var) || !IsFusedType(var->type.dtype)) return false;
    }
    if (!IsMatrixProduct(op) || op.type() == "fc") return true;
    if (fc_ == nullptr) return false;
    const TensorType& x = op.input("X")->type;
    const TensorType& w = op.input("Y")->type;
    if (!x.has_rank || w.rank() != 2 || x.rank() < 2) return false;
    if (op.type() == "mul") return op.GetInt("y_num_col_dims", 1) == 1;
    return !ops::HasFusedMoves(op) && !op.GetBool("trans_x") && !op.GetBool("trans_y");
  }

  bool Stable(const Var& var) const { return var.kind == VarKind::kTemp || uses_.num_writers(var) == 0; }

  // One element per channel of the result, along its channel dimension.
  bool IsBias(const Op& anchor, const Op& add, const Var& y, const Var& b) const {
    if (!Stable(b) || !b.type.IsStatic() || !y.type.has_rank || &b == &y || b.type.rank() > y.type.rank() || b.type.rank() == 0)
      return false;
    const int channel = IsConv(anchor) ? ConvChannelDim(anchor, y.type.rank()) : y.type.rank() - 1;
    const int64_t channels = y.type.dims[channel];
    if (!IsKnown(channels) || b.type.NumElements() != channels) return false;
    int64_t axis = add.GetInt("axis", -1);
    if (add.inputs()[0] != &y && axis != -1) return false;  // then the bias is the left operand and y is broadcast into it
    if (axis < 0) axis = y.type.rank() - b.type.rank();
    for (int i = 0; i < b.type.rank(); ++i) {
      if (b.type.dims[i] != 1 && axis + i != channel) return false;
    }
    return axis + b.type.rank() > channel && axis <= channel;
  }

  bool IsResidual(const Op& add, const Var& y, const Var& r) const {
    return Stable(r) && &r != &y && r.type.dtype == y.type.dtype && add.GetInt("axis", -1) == -1 && shapes_.Same(r, y);
  }

  static bool IsActivation(const Op& op) {
    if (op.type() == "hard_swish" && !(op.GetFloat("threshold") == 6 && op.GetFloat("scale") == 6 && op.GetFloat("offset") == 3))
      return false;
    return op.def().fused_activation;
  }

  // The fused op stands at the chain's end: operands of the steps may be defined only there.
  void Fuse(const Chain& chain) {
    for (const Op* op : chain.merged) rewrite_.Drop(*op);
    if (chain.anchor->type() == "matmul_v2" || chain.anchor->type() == "mul") {
      std::unique_ptr<Op> fc = AsFc(*chain.anchor);
      SetChain(chain, *fc);
      rewrite_.Drop(*chain.anchor);
      rewrite_.Replace(*chain.merged.back(), std::move(fc));
    } else {
      SetChain(chain, *chain.anchor);
      rewrite_.MoveTo(*chain.anchor, *chain.merged.back());
    }
  }

  static void SetChain(const Chain& chain, Op& fused) {
    if (chain.bias != nullptr) fused.SetInputs(fused.def().InputSlot("Bias"), {&chain.bias, 1});
    if (chain.residual != nullptr) fused.SetInputs(fused.def().InputSlot("ResidualData"), {&chain.residual, 1});
    if (chain.act != nullptr) SetActivation(fused, *chain.act);
    if (chain.scale.factor[0] != 1) fused.SetAttr("fuse_scale", chain.scale.factor[0]);
    if (chain.scale.term[0] != 0) fused.SetAttr("fuse_shift", chain.scale.term[0]);
    Var* result = chain.result();
    fused.SetOutputs(0, {&result, 1});
  }

  std::unique_ptr<Op> AsFc(const Op& product) const {
    std::unique_ptr<Op> fc = Rewrite::NewOp(fc_, product);
    Var* x = product.input("X");
    Var* w = product.input("Y");
    fc->SetInputs(fc_->InputSlot("Input"), {&x, 1});
    fc->SetInputs(fc_->InputSlot("W"), {&w, 1});
    const int64_t rows = product.type() == "mul" ? product.GetInt("x_num_col_dims", 1) : x->type.rank() - 1;
    fc->SetAttr("in_num_col_dims", static_cast<int32_t>(rows));
    return fc;
  }

  static void SetActivation(Op& fused, const Op& act) {
    std::string name = act.type();
    if (name == "gelu" && act.GetBool("approximate")) name = "gelu_tanh";
    const auto set = [&](const char* attr, const char* from) { fused.SetAttr(attr, static_cast<float>(act.GetFloat(from))); };
    if (name == "relu6") set("fuse_alpha", "threshold");
    if (name == "leaky_relu") set("fuse_alpha", "alpha");
    if (name == "swish") set("fuse_alpha", "beta");
    if (name == "hard_sigmoid") {
      set("fuse_alpha", "slope");
      set("fuse_beta", "offset");
    }
    fused.SetAttr("fuse_activation", std::move(name));
  }

  Program& program_;
  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
  Pattern pattern_ = Pattern(uses_);
  ShapeSymbols shapes_;
  const OpDef* fc_;
};

}  // namespace

PassInfo FuseBiasActPass() {
  return SimplePass("fuse-bias-act", "moves bias, residual and activation into the convolution or product in front of them",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return BiasActFuser(program).Run(); });
}

}  // namespace ampc
