#include "passes/fusion/fuse_conv_affine.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/ops/window.h"
#include "passes/fusion/affine.h"
#include "passes/fusion/constant_value.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using Floats = std::vector<float>;

bool IsConv(const Op& op) { return op.type() == "conv2d" || op.type() == "depthwise_conv2d"; }
bool HasActivation(const Op& op) { return !op.GetString("fuse_activation").empty() || op.GetBool("fuse_relu") || op.GetBool("fuse_brelu"); }
float At(const Floats& v, size_t i) { return v.size() == 1 ? v[0] : v[i]; }

class ConvAffineFuser {
 public:
  explicit ConvAffineFuser(Program& program) : program_(program), uses_(program) {}

  bool Run() {
    bool changed = false;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      Block& block = program_.block(b);
      std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
      for (std::unique_ptr<Op>& op : ops) {
        if (!IsConv(*op) || !Constant(*op)) continue;
        const bool before = FuseBefore(*op);
        const bool behind = FuseBehind(*op);
        changed = changed || before || behind;
      }
      for (std::unique_ptr<Op>& op : ops) {
        if (gone_.contains(op.get())) graveyard_.push_back(std::move(op));
      }
      std::erase(ops, nullptr);
      block.SetOps(std::move(ops));
    }
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  // Filter and bias are constants of matching size.
  bool Constant(const Op& conv) const {
    const Var& w = *conv.input("Filter");
    const Var* b = conv.input("Bias");
    if (!w.type.IsStatic() || w.type.rank() != 4 || w.type.dims[0] == 0 || uses_.num_writers(w) > 0) return false;
    if (b != nullptr && (uses_.num_writers(*b) > 0 || b->type.NumElements() != w.type.dims[0])) return false;
    const auto has_value = [](const Var& var) { return var.literal != nullptr || (var.kind == VarKind::kParam && var.weight != nullptr); };
    return has_value(w) && (b == nullptr || has_value(*b));
  }

  bool FuseBehind(Op& conv) {
    if (HasActivation(conv) || conv.input("ResidualData") != nullptr) return false;
    const int64_t channels = conv.input("Filter")->type.dims[0];
    const int channel_dim = conv.GetString("data_format") == "NHWC" ? 3 : 1;
    Var* y = conv.output("Output");
    Affine all{{1.0f}, {0.0f}};
    std::vector<const Op*> steps;
    bool scales = false;
    while (const Op* next = OnlyReader(*y)) {
      const std::optional<Affine> step = ReadAffine(uses_, *next, *y, channel_dim, channels);
      if (!step.has_value()) break;
      scales = scales || next->type() != "elementwise_add";
      all = Then(all, *step);
      steps.push_back(next);
      y = next->outputs()[0];
    }
    if (steps.empty() || (!scales && conv.input("Bias") == nullptr && steps.size() == 1)) return false;
    std::optional<Floats> w = ConstantFloats(*conv.input("Filter"));
    std::optional<Floats> bias = BiasOf(conv);
    if (!w.has_value() || !bias.has_value()) return false;
    const size_t per_channel = w->size() / bias->size();
    for (size_t c = 0; c < bias->size(); ++c) {
      (*bias)[c] = static_cast<float>(static_cast<double>((*bias)[c]) * At(all.factor, c) + At(all.term, c));
      for (size_t i = 0; i < per_channel; ++i) (*w)[c * per_channel + i] *= At(all.factor, c);
    }
    if (!FitsType(conv.input("Filter")->type.dtype, *w) || !FitsType(conv.input("Filter")->type.dtype, *bias)) return false;
    Rewrite(conv, *w, *bias);
    conv.SetOutputs(conv.def().OutputSlot("Output"), {&y, 1});
    gone_.insert(steps.begin(), steps.end());
    return true;
  }

  bool FuseBefore(Op& conv) {
    if (!NoPadding(conv)) return false;
    Var* x = conv.input("Input");
    Affine all{{1.0f}, {0.0f}};
    std::vector<const Op*> steps;
    for (;;) {
      const Op* step = x->kind == VarKind::kTemp && uses_.single_use(*x) ? uses_.producer(*x) : nullptr;
      if (step == nullptr || gone_.contains(step) || &step->block() != &conv.block() || step->inputs().empty()) break;
      Var* source = Source(*step);
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
    if (!FitsType(conv.input("Filter")->type.dtype, *w) || !FitsType(conv.input("Filter")->type.dtype, *bias)) return false;
    Rewrite(conv, *w, *bias);
    conv.SetInputs(conv.def().InputSlot("Input"), {&x, 1});
    gone_.insert(steps.begin(), steps.end());
    return true;
  }

  // The operand that is no constant.
  static Var* Source(const Op& op) {
    Var* found = nullptr;
    for (Var* var : op.inputs()) {
      if (var->literal != nullptr || var->kind == VarKind::kParam) continue;
      if (found != nullptr) return nullptr;
      found = var;
    }
    return found;
  }

  static bool NoPadding(const Op& conv) {
    const Dims& w = conv.input("Filter")->type.dims;
    const absl::StatusOr<ops::Windows> windows = ops::ReadWindows(conv, {kUnknownDim, kUnknownDim}, {w[2], w[3]});
    if (!windows.ok() || conv.GetString("padding_algorithm") == "SAME") return false;
    for (const ops::Window& window : *windows) {
      if (window.before != 0 || window.after != 0) return false;
    }
    return true;
  }

  const Op* OnlyReader(const Var& y) const {
    if (y.kind != VarKind::kTemp || !uses_.single_use(y)) return nullptr;
    const Op* reader = uses_.uses(y)[0].op;
    return &reader->block() == &y.block() && !gone_.contains(reader) ? reader : nullptr;
  }

  static std::optional<Floats> BiasOf(const Op& conv) {
    const Var* bias = conv.input("Bias");
    return bias == nullptr ? Floats(static_cast<size_t>(conv.input("Filter")->type.dims[0]), 0.0f) : ConstantFloats(*bias);
  }

  static void Rewrite(Op& conv, const Floats& w, const Floats& bias) {
    Block& block = conv.block();
    const TensorType type = conv.input("Filter")->type;
    Var* filter = AddConstant(block, absl::StrCat(conv.input("Filter")->name(), ".affine"), MakeConstant(type.dtype, type.dims, w));
    Var* added = AddConstant(block, absl::StrCat(conv.output("Output")->name(), ".bias"),
                             MakeConstant(type.dtype, {static_cast<int64_t>(bias.size())}, bias));
    conv.SetInputs(conv.def().InputSlot("Filter"), {&filter, 1});
    conv.SetInputs(conv.def().InputSlot("Bias"), {&added, 1});
  }

  Program& program_;
  UseDef uses_;
  absl::flat_hash_set<const Op*> gone_;
  std::vector<std::unique_ptr<Op>> graveyard_;  // uses_ still points at them
};

}  // namespace

PassInfo FuseConvAffinePass() {
  return SimplePass("fuse-conv-affine", "folds products and sums with constants into convolutions",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ConvAffineFuser(program).Run(); });
}

}  // namespace ampc
