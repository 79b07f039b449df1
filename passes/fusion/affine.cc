#include "passes/fusion/affine.h"

#include <algorithm>

#include "passes/fusion/constant_value.h"
#include "passes/fusion/pattern.h"

namespace ampc {
namespace {

// The constant's elements if it is one number, or lies along the channels of x alone.
std::optional<std::vector<float>> AlongChannels(const UseDef& uses, const Op& op, const Var& x, const Var& c, int channel_dim,
                                                int64_t channels) {
  if (!c.type.IsStatic() || c.type.rank() > x.type.rank() || uses.num_writers(c) > 0) return std::nullopt;
  const int64_t n = c.type.NumElements();
  if (n != 1) {
    if (channel_dim < 0 || n != channels) return std::nullopt;
    int64_t axis = op.GetInt("axis", -1);
    if (axis < 0) axis = x.type.rank() - c.type.rank();
    for (int i = 0; i < c.type.rank(); ++i) {
      if (c.type.dims[i] != 1 && axis + i != channel_dim) return std::nullopt;
    }
  }
  return ConstantFloats(c);
}

}  // namespace

std::optional<Affine> ReadAffine(const UseDef& uses, const Op& op, const Var& x, int channel_dim, int64_t channels) {
  if (!IsFusedType(x.type.dtype) || op.outputs().size() != 1 || op.outputs()[0]->type.dtype != x.type.dtype) return std::nullopt;
  if (op.outputs()[0]->type.rank() != x.type.rank()) return std::nullopt;
  if (op.type() == "scale") {
    if (op.inputs().size() != 1) return std::nullopt;
    const float factor = static_cast<float>(op.GetFloat("scale", 1));
    const float bias = static_cast<float>(op.GetFloat("bias", 0));
    return Affine{{factor}, {op.GetBool("bias_after_scale", true) ? bias : bias * factor}};
  }
  const bool mul = op.type() == "elementwise_mul";
  if ((!mul && op.type() != "elementwise_add") || op.inputs().size() != 2) return std::nullopt;
  const bool left = op.inputs()[0] == &x;
  if (!left && op.GetInt("axis", -1) != -1) return std::nullopt;
  const Var& c = *op.inputs()[left ? 1 : 0];
  if (&c == &x) return std::nullopt;
  std::optional<std::vector<float>> values = AlongChannels(uses, op, x, c, channel_dim, channels);
  if (!values.has_value()) return std::nullopt;
  return mul ? Affine{*std::move(values), {0.0f}} : Affine{{1.0f}, *std::move(values)};
}

Affine Then(const Affine& a, const Affine& b) {
  const size_t n = std::max({a.factor.size(), a.term.size(), b.factor.size(), b.term.size()});
  Affine out;
  for (size_t i = 0; i < n; ++i) {
    out.factor.push_back(At(a.factor, i) * At(b.factor, i));
    out.term.push_back(static_cast<float>(static_cast<double>(At(a.term, i)) * At(b.factor, i) + At(b.term, i)));
  }
  return out;
}

AffineChain FindAffineChain(const Rewrite& rewrite, Var* y, int channel_dim, int64_t channels) {
  AffineChain found, grown;
  found.result = grown.result = y;
  while (const Op* next = rewrite.OnlyReader(*grown.result)) {
    const bool cast = IsFloatCast(*next);
    const std::optional<Affine> step = cast ? std::nullopt : ReadAffine(rewrite.uses(), *next, *grown.result, channel_dim, channels);
    if ((!cast && !step.has_value()) || next->outputs()[0]->kind != VarKind::kTemp) break;
    if (step.has_value()) {
      grown.all = Then(grown.all, *step);
      ++(next->type() == "elementwise_add" ? grown.sums : grown.others);
    }
    grown.ops.push_back(next);
    grown.result = next->outputs()[0];
    if (grown.result->type.dtype == y->type.dtype && grown.sums + grown.others > 0) found = grown;
  }
  return found;
}

}  // namespace ampc
