#include "passes/fusion/fuse_group_norm.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/op_registry.h"
#include "passes/fusion/affine.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/pattern.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class GroupNormFuser {
 public:
  explicit GroupNormFuser(Program& program) : program_(program), rewrite_(program), def_(Ops().Find("group_norm")) {}

  bool Run() {
    if (def_ == nullptr) return false;
    const bool changed = rewrite_.Run([this](const Op& op) { return op.type() == "reshape2" && Fuse(op); });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  // `back` as the op that gives the result the dims that were there before.
  bool Fuse(const Op& back) {
    const Op* norm = pattern_.Producer(*back.input("X"), back, {"instance_norm"});
    if (norm == nullptr || norm->outputs().size() != 1) return false;
    const Op* split = pattern_.Producer(*norm->input("X"), *norm, {"reshape2"});
    if (split == nullptr || split->outputs().size() != 1 || back.outputs().size() != 1) return false;
    Var *const x = split->input("X"), *const y = back.outputs()[0];
    const TensorType& parts = norm->input("X")->type;
    if (!x->type.has_rank || x->type.rank() < 3 || !IsFusedType(x->type.dtype) || y->type.dtype != x->type.dtype) return false;
    const int64_t channels = x->type.dims[1], groups = parts.has_rank && parts.rank() >= 3 ? parts.dims[1] : kUnknownDim;
    if (!IsKnown(channels) || !IsKnown(groups) || groups < 1 || channels % groups != 0) return false;
    if (!KeepsImages(*split, x->type, parts) || !Restores(back, *x)) return false;
    const std::optional<Affine> own = PerChannel(*norm, groups, channels);
    if (!own.has_value()) return false;
    const AffineChain chain = FindAffineChain(rewrite_, y, 1, channels);
    Var* const result = chain.result;
    std::unique_ptr<Op> op = Make(*norm, x, Then(*own, chain.all), groups, channels, result);
    for (const Op* gone : {split, norm}) rewrite_.Drop(*gone);
    for (const Op* gone : chain.ops) rewrite_.Drop(*gone);
    rewrite_.Replace(back, std::move(op));
    return true;
  }

  // The first dimension is as it was.
  static bool KeepsImages(const Op& split, const TensorType& x, const TensorType& parts) {
    const std::vector<int64_t> shape = split.GetInts("shape");
    const bool copied = split.inputs().size() == 1 && !shape.empty() && shape[0] == 0;
    return copied || (IsKnown(x.dims[0]) && x.dims[0] == parts.dims[0]);
  }

  // Of as many elements as `x`, the dims are those of x: the op has them from it, or all are known but one.
  bool Restores(const Op& back, const Var& x) const {
    if (const Var* dims = back.input("Shape"); dims != nullptr && back.inputs().size() == 2) {
      const Op* shape = pattern_.Producer(*dims, back, {"shape"}, false);
      if (shape != nullptr && shape->inputs()[0] == &x) return true;
    }
    const Dims &from = x.type.dims, &to = back.outputs()[0]->type.dims;
    int unknown = 0;
    if (from.size() != to.size()) return false;
    for (size_t i = 0; i < from.size(); ++i) {
      const bool same = IsKnown(from[i]) && from[i] == to[i] && from[i] > 0;
      unknown += same ? 0 : 1;
      if (!same && IsKnown(from[i]) && IsKnown(to[i])) return false;
    }
    return unknown <= 1;
  }

  // The factors and terms of the norm, which it has per group, for each channel.
  std::optional<Affine> PerChannel(const Op& norm, int64_t groups, int64_t channels) const {
    const auto spread = [&](const char* slot, float absent) -> std::optional<std::vector<float>> {
      const Var* var = norm.input(slot);
      if (var == nullptr) return std::vector<float>{absent};
      const std::optional<std::vector<float>> values = ConstantFloats(*var);
      if (!values.has_value() || rewrite_.uses().num_writers(*var) > 0 || static_cast<int64_t>(values->size()) != groups)
        return std::nullopt;
      std::vector<float> each;
      for (int64_t c = 0; c < channels; ++c) each.push_back((*values)[c / (channels / groups)]);
      return each;
    };
    std::optional<std::vector<float>> scale = spread("Scale", 1), bias = spread("Bias", 0);
    if (!scale.has_value() || !bias.has_value()) return std::nullopt;
    return Affine{*std::move(scale), *std::move(bias)};
  }

  std::unique_ptr<Op> Make(const Op& norm, Var* x, const Affine& affine, int64_t groups, int64_t channels, Var* y) const {
    std::unique_ptr<Op> op = Rewrite::NewOp(def_, norm);
    op->SetInputs(def_->InputSlot("X"), {&x, 1});
    const auto set = [&](const char* slot, const std::vector<float>& values) {
      std::vector<float> each;
      for (int64_t c = 0; c < channels; ++c) each.push_back(At(values, static_cast<size_t>(c)));
      Var* const var = AddConstant(norm.block(), absl::StrCat(y->name(), ".", slot), MakeConstant(DType::kF32, {channels}, each));
      op->SetInputs(def_->InputSlot(slot), {&var, 1});
    };
    set("Scale", affine.factor);
    set("Bias", affine.term);
    op->SetOutputs(def_->OutputSlot("Y"), {&y, 1});
    op->SetAttr("epsilon", static_cast<float>(norm.GetFloat("epsilon")));
    op->SetAttr("groups", static_cast<int32_t>(groups));
    return op;
  }

  Program& program_;
  Rewrite rewrite_;
  Pattern pattern_ = Pattern(rewrite_.uses());
  const OpDef* def_;
};

}  // namespace

PassInfo FuseGroupNormPass() {
  return SimplePass("fuse-group-norm", "turns normalisations of groups of channels that are spelt out into one op each",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return GroupNormFuser(program).Run(); });
}

}  // namespace ampc
