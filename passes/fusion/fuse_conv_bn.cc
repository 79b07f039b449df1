#include "passes/fusion/fuse_conv_bn.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/conv.h"
#include "passes/fusion/pattern.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using Floats = std::vector<float>;

class ConvBnFuser {
 public:
  ConvBnFuser(Program& program, bool excess) : program_(program), excess_(excess), rewrite_(program) {}

  bool Run() {
    const bool changed = rewrite_.Run([this](const Op& op) {
      Op* last = op.type() == "batch_norm" ? LastInFront(op) : nullptr;
      Op* conv = last != nullptr && IsFloatCast(*last) ? rewrite_.uses().producer(*last->inputs()[0]) : last;
      if (conv == nullptr || !Fuse(*conv, op)) return false;
      Var* y = op.output("Y");
      last->SetOutputs(0, {&y, 1});
      rewrite_.Drop(op);
      return true;
    });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  // The convolution that may take a batch norm in, or the cast behind it: the op that gives X, for the batch norm alone.
  Op* LastInFront(const Op& bn) const {
    if (!bn.GetBool("is_test") && !bn.GetBool("use_global_stats")) return nullptr;
    const Var* x = bn.input("X");
    if (x == nullptr || HasActivation(bn)) return nullptr;
    // In a test the statistics are written back as they were; nothing may read what else the op gives.
    for (const Var* var : bn.outputs()) {
      if (var == bn.output("Y")) continue;
      const bool written_back = var == bn.input("Mean") || var == bn.input("Variance");
      if (!written_back && (!uses_.uses(*var).empty() || uses_.fetched(*var))) return nullptr;
    }
    if (!IsFusedType(x->type.dtype) || bn.output("Y")->type.dtype != x->type.dtype) return nullptr;
    Op* last = OnlyFor(*x, bn);
    Op* conv = excess_ && last != nullptr && IsFloatCast(*last) ? OnlyFor(*last->inputs()[0], *last) : last;
    return conv != nullptr && IsConv(*conv) && !HasActivation(*conv) && conv->input("ResidualData") == nullptr ? last : nullptr;
  }

  // The op that makes the temp `var`, which `reader`, of its block, alone reads.
  Op* OnlyFor(const Var& var, const Op& reader) const {
    Op* op = var.kind == VarKind::kTemp && uses_.single_use(var) ? uses_.producer(var) : nullptr;
    return op != nullptr && &op->block() == &reader.block() && !rewrite_.IsGone(*op) ? op : nullptr;
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
    if (!filter->type.IsStatic() || filter->type.rank() < 4 || uses_.num_writers(*filter) > 0) return false;
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
    if (!w.has_value() || !scale.has_value() || !bias.has_value() || !mean.has_value() || !variance.has_value() || channels == 0)
      return false;
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
    // The products stay fp32 whatever the filter was: a scale over a small deviation may leave the low range.
    SetConvConstants(conv, ".bn", DType::kF32, *w, new_bias);
    return true;
  }

  Program& program_;
  const bool excess_;  // low values keep what float32 computed
  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
};

}  // namespace

PassInfo FuseConvBnPass() {
  PassInfo info;
  info.name = "fuse-conv-bn";
  info.summary = "folds batch norms with fixed statistics into convolutions";
  info.options = {
      {"excess", "true: low values keep what float32 computed, so that a cast may lie in between; false (default): each is rounded"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const bool excess, BoolOption(options, "excess", false));
    return MakePass([excess](PassContext&, Program& program) -> absl::StatusOr<bool> { return ConvBnFuser(program, excess).Run(); });
  };
  return info;
}

}  // namespace ampc
