#include "passes/fusion/fuse_conv_affine.h"

#include <utility>

#include "graph/ops/window.h"
#include "passes/fusion/affine.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/conv.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using Floats = std::vector<float>;

class ConvAffineFuser {
 public:
  explicit ConvAffineFuser(Program& program) : program_(program), rewrite_(program) {}

  bool Run() {
    const bool changed = rewrite_.Run([this](Op& op) {
      if (!IsConv(op) || !Constant(op)) return false;
      const bool before = FuseBefore(op);
      const bool behind = FuseBehind(op);
      return before || behind;
    });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  // Filter and bias are constants of matching size.
  bool Constant(const Op& conv) const {
    const Var& w = *conv.input("Filter");
    const Var* b = conv.input("Bias");
    if (!w.type.IsStatic() || w.type.rank() < 4 || w.type.dims[0] == 0 || uses_.num_writers(w) > 0) return false;
    if (b != nullptr && (uses_.num_writers(*b) > 0 || b->type.NumElements() != w.type.dims[0])) return false;
    const auto has_value = [](const Var& var) { return var.literal != nullptr || (var.kind == VarKind::kParam && var.weight != nullptr); };
    return has_value(w) && (b == nullptr || has_value(*b));
  }

  bool FuseBehind(Op& conv) {
    if (HasActivation(conv) || conv.input("ResidualData") != nullptr) return false;
    const int64_t channels = conv.input("Filter")->type.dims[0];
    AffineChain chain = FindAffineChain(rewrite_, conv.output("Output"), ConvChannelDim(conv, conv.input("Filter")->type.rank()), channels);
    const bool is_bias = chain.others == 0 && chain.sums == 1 && conv.input("Bias") == nullptr;
    if (chain.ops.empty() || is_bias) return false;
    std::optional<Floats> w = ConstantFloats(*conv.input("Filter"));
    std::optional<Floats> bias = BiasOf(conv);
    if (!w.has_value() || !bias.has_value()) return false;
    const size_t per_channel = w->size() / bias->size();
    for (size_t c = 0; c < bias->size(); ++c) {
      (*bias)[c] = static_cast<float>(static_cast<double>((*bias)[c]) * At(chain.all.factor, c) + At(chain.all.term, c));
      for (size_t i = 0; i < per_channel; ++i) (*w)[c * per_channel + i] *= At(chain.all.factor, c);
    }
    if (!SetConstants(conv, *w, *bias)) return false;
    conv.SetOutputs(conv.def().OutputSlot("Output"), {&chain.result, 1});
    for (const Op* op : chain.ops) rewrite_.Drop(*op);
    return true;
  }

  bool FuseBefore(Op& conv) {
    if (!NoPadding(conv)) return false;
    Var* x = conv.input("Input");
    Affine all{{1.0f}, {0.0f}};
    std::vector<const Op*> steps;
    for (;;) {
      const Op* step = x->kind == VarKind::kTemp && uses_.single_use(*x) ? uses_.producer(*x) : nullptr;
      if (step == nullptr || rewrite_.IsGone(*step) || &step->block() != &conv.block() || step->inputs().empty()) break;
      Var* source = VariableOperand(*step);
      if (source == nullptr || (source->kind != VarKind::kTemp && uses_.num_writers(*source) > 0)) break;
      const std::optional<Affine> affine = ReadAffine(uses_, *step, *source, -1, -1);
      if (!affine.has_value()) break;
      all = Then(*affine, all);
      steps.push_back(step);
      x = source;
    }
    if (steps.empty()) return false;
    std::optional<Floats> w = ConstantFloats(*conv.input("Filter"));
    std::optional<Floats> bias = BiasOf(conv);
    if (!w.has_value() || !bias.has_value()) return false;
    const size_t per_channel = w->size() / bias->size();
    for (size_t c = 0; c < bias->size(); ++c) {
      double sum = 0;
      for (size_t i = 0; i < per_channel; ++i) {
        float& element = (*w)[c * per_channel + i];
        sum += element;
        element *= all.factor[0];
      }
      (*bias)[c] = static_cast<float>((*bias)[c] + sum * all.term[0]);
    }
    if (!SetConstants(conv, *w, *bias)) return false;
    conv.SetInputs(conv.def().InputSlot("Input"), {&x, 1});
    for (const Op* step : steps) rewrite_.Drop(*step);
    return true;
  }

  static bool NoPadding(const Op& conv) {
    const Dims& w = conv.input("Filter")->type.dims;
    const auto kernel = absl::MakeConstSpan(w).subspan(2);
    const absl::StatusOr<ops::Windows> windows = ops::ReadWindows(conv, Dims(kernel.size(), kUnknownDim), kernel);
    if (!windows.ok() || conv.GetString("padding_algorithm") == "SAME") return false;
    for (const ops::Window& window : *windows) {
      if (window.before != 0 || window.after != 0) return false;
    }
    return true;
  }

  // False, and nothing changes, where the type of the filter does not hold them.
  static bool SetConstants(Op& conv, const Floats& w, const Floats& bias) {
    const DType dtype = conv.input("Filter")->type.dtype;
    if (!FitsType(dtype, w) || !FitsType(dtype, bias)) return false;
    SetConvConstants(conv, ".affine", dtype, w, bias);
    return true;
  }

  static std::optional<Floats> BiasOf(const Op& conv) {
    const Var* bias = conv.input("Bias");
    return bias == nullptr ? Floats(static_cast<size_t>(conv.input("Filter")->type.dims[0]), 0.0f) : ConstantFloats(*bias);
  }

  Program& program_;
  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
};

}  // namespace

PassInfo FuseConvAffinePass() {
  return SimplePass("fuse-conv-affine", "folds products and sums with constants into convolutions",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ConvAffineFuser(program).Run(); });
}

}  // namespace ampc
