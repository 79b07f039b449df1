#include "passes/fusion/fuse_conv_bn.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/fusion/constant_value.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using Floats = std::vector<float>;

bool IsConv(const Op& op) { return op.type() == "conv2d" || op.type() == "depthwise_conv2d"; }
bool HasActivation(const Op& op) {
  return !op.GetString("fuse_activation").empty() || op.GetBool("fuse_relu") || op.GetBool("fuse_brelu") || op.GetBool("fuse_with_relu");
}

class ConvBnFuser {
 public:
  explicit ConvBnFuser(Program& program) : program_(program), uses_(program) {}

  bool Run() {
    bool changed = false;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      std::vector<std::unique_ptr<Op>> ops = program_.block(b).TakeOps();
      for (std::unique_ptr<Op>& op : ops) {
        if (op->type() != "batch_norm") continue;
        Op* conv = ConvInFront(*op);
        if (conv == nullptr || !Fuse(*conv, *op)) continue;
        graveyard_.push_back(std::move(op));
        changed = true;
      }
      std::erase(ops, nullptr);
      program_.block(b).SetOps(std::move(ops));
    }
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  Op* ConvInFront(const Op& bn) const {
    if (!bn.GetBool("is_test") && !bn.GetBool("use_global_stats")) return nullptr;
    const Var* x = bn.input("X");
    if (x == nullptr || x->kind != VarKind::kTemp || !uses_.single_use(*x) || HasActivation(bn)) return nullptr;
    // In a test the statistics are written back as they were; nothing may read what else the op gives.
    for (const Var* var : bn.outputs()) {
      if (var == bn.output("Y")) continue;
      const bool written_back = var == bn.input("Mean") || var == bn.input("Variance");
      if (!written_back && (!uses_.uses(*var).empty() || uses_.fetched(*var))) return nullptr;
    }
    Op* conv = uses_.producer(*x);
    const bool fits = conv != nullptr && IsConv(*conv) && &conv->block() == &bn.block() && !HasActivation(*conv) &&
                      conv->input("ResidualData") == nullptr && bn.output("Y")->type.dtype == x->type.dtype;
    return fits ? conv : nullptr;
  }

  std::optional<Floats> PerChannel(const Op& op, const char* slot, size_t channels) const {
    const Var* var = op.input(slot);
    if (var == nullptr || !WrittenOnlyBy(uses_, *var, &op)) return std::nullopt;
    std::optional<Floats> values = ConstantFloats(*var);
    if (!values.has_value() || values->size() != channels) return std::nullopt;
    return values;
  }

  bool Fuse(Op& conv, const Op& bn) {
    Var* filter = conv.input("Filter");
    if (!filter->type.IsStatic() || filter->type.rank() != 4 || uses_.num_writers(*filter) > 0) return false;
    const size_t channels = static_cast<size_t>(filter->type.dims[0]);
    std::optional<Floats> w = ConstantFloats(*filter);
    const std::optional<Floats> scale = PerChannel(bn, "Scale", channels), bias = PerChannel(bn, "Bias", channels);
    const std::optional<Floats> mean = PerChannel(bn, "Mean", channels), variance = PerChannel(bn, "Variance", channels);
    Floats old_bias(channels, 0.0f);
    if (conv.input("Bias") != nullptr) {
      const std::optional<Floats> found = PerChannel(conv, "Bias", channels);
      if (!found.has_value()) return false;
      old_bias = *found;
    }
    if (!w.has_value() || !scale.has_value() || !bias.has_value() || !mean.has_value() || !variance.has_value() || channels == 0) return false;
    const size_t per_channel = w->size() / channels;
    Floats new_bias(channels);
    for (size_t c = 0; c < channels; ++c) {
      const double factor = (*scale)[c] / std::sqrt(static_cast<double>((*variance)[c]) + bn.GetFloat("epsilon"));
      new_bias[c] = static_cast<float>((*bias)[c] + (static_cast<double>(old_bias[c]) - (*mean)[c]) * factor);
      for (size_t i = 0; i < per_channel; ++i) {
        float& element = (*w)[c * per_channel + i];
        element = static_cast<float>(element * factor);
      }
    }
    if (!FitsType(filter->type.dtype, *w) || !FitsType(filter->type.dtype, new_bias)) return false;
    Rewrite(conv, *bn.output("Y"), *w, new_bias);
    return true;
  }

  // The products stay fp32 whatever the filter was: a scale over a small deviation may leave the low range.
  static void Rewrite(Op& conv, Var& y, const Floats& w, const Floats& bias) {
    Block& block = conv.block();
    const TensorType& type = conv.input("Filter")->type;
    Var* filter = AddConstant(block, absl::StrCat(conv.input("Filter")->name(), ".bn"), MakeConstant(DType::kF32, type.dims, w));
    Var* added = AddConstant(block, absl::StrCat(conv.output("Output")->name(), ".bias"),
                             MakeConstant(DType::kF32, {static_cast<int64_t>(bias.size())}, bias));
    conv.SetInputs(conv.def().InputSlot("Filter"), {&filter, 1});
    conv.SetInputs(conv.def().InputSlot("Bias"), {&added, 1});
    Var* out = &y;
    conv.SetOutputs(conv.def().OutputSlot("Output"), {&out, 1});
  }

  Program& program_;
  UseDef uses_;
  std::vector<std::unique_ptr<Op>> graveyard_;  // uses_ still points at them
};

}  // namespace

PassInfo FuseConvBnPass() {
  return SimplePass("fuse-conv-bn", "folds batch norms with fixed statistics into convolutions",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ConvBnFuser(program).Run(); });
}

}  // namespace ampc
