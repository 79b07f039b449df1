#include "kernels/lib/activation.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

struct Row {
  const char* name;
  ActivationKind kind;
  float alpha, beta;  // defaults
};
constexpr Row kRows[] = {
    {"relu", ActivationKind::kRelu, 0, 0},
    {"relu6", ActivationKind::kRelu6, 6, 0},
    {"leaky_relu", ActivationKind::kLeakyRelu, 0.02f, 0},
    {"sigmoid", ActivationKind::kSigmoid, 0, 0},
    {"tanh", ActivationKind::kTanh, 0, 0},
    {"gelu", ActivationKind::kGelu, 0, 0},
    {"gelu_erf", ActivationKind::kGelu, 0, 0},
    {"gelu_tanh", ActivationKind::kGeluTanh, 0, 0},
    {"swish", ActivationKind::kSwish, 1, 0},
    {"silu", ActivationKind::kSwish, 1, 0},
    {"hard_swish", ActivationKind::kHardSwish, 6, 0},
    {"hard_sigmoid", ActivationKind::kHardSigmoid, 0.2f, 0.5f},
};

std::string NameOf(const Op& op) {
  for (const char* attr : {"fuse_activation", "activation_type"}) {
    if (std::string name = op.GetString(attr); !name.empty()) return name;
  }
  if (op.GetBool("fuse_relu") || op.GetBool("fuse_with_relu")) return "relu";
  return op.GetBool("fuse_brelu") ? "relu6" : "";
}

void Override(const Op& op, const char* attr, float* value) {
  if (op.explicit_attr(attr) != nullptr) *value = static_cast<float>(op.GetFloat(attr));
}

}  // namespace

absl::StatusOr<Activation> ReadActivation(const Op& op) {
  Activation act;
  Override(op, "fuse_scale", &act.scale);
  Override(op, "fuse_shift", &act.shift);
  const std::string name = NameOf(op);
  if (name.empty() || name == "identity") return act;
  for (const Row& row : kRows) {
    if (name != row.name) continue;
    act.kind = row.kind;
    act.alpha = row.alpha;
    act.beta = row.beta;
    if (op.GetBool("fuse_brelu")) Override(op, "fuse_brelu_threshold", &act.alpha);
    if (act.kind != ActivationKind::kHardSwish) Override(op, "fuse_alpha", &act.alpha);
    Override(op, "fuse_beta", &act.beta);
    return act;
  }
  return UnsupportedError(absl::StrCat(Describe(op), ": the fused activation '", name, "' has no kernel"));
}

bool MayLoseNan(const Activation& activation) {
  using enum ActivationKind;
  return activation.kind == kRelu || activation.kind == kRelu6 || activation.kind == kHardSigmoid || activation.kind == kSigmoid;
}

void ApplyActivation(const Activation& act, int threads, float* data, int64_t n) {
  using simd::UnaryOp;
  UnaryOp fn = UnaryOp::kAbs;
  simd::Params<float> p{act.alpha, act.beta, 0};
  switch (act.kind) {
    case ActivationKind::kNone: break;
    case ActivationKind::kRelu: fn = UnaryOp::kRelu; break;
    case ActivationKind::kRelu6: fn = UnaryOp::kClip, p = {0, act.alpha, 0}; break;
    case ActivationKind::kLeakyRelu: fn = UnaryOp::kLeakyRelu; break;
    case ActivationKind::kSigmoid: fn = UnaryOp::kSigmoid; break;
    case ActivationKind::kTanh: fn = UnaryOp::kTanh; break;
    case ActivationKind::kGelu: fn = UnaryOp::kGelu; break;
    case ActivationKind::kGeluTanh: fn = UnaryOp::kGeluTanh; break;
    case ActivationKind::kSwish: fn = UnaryOp::kSwish; break;
    case ActivationKind::kHardSwish: fn = UnaryOp::kHardSwish, p = {6, 6, 3}; break;
    case ActivationKind::kHardSigmoid: fn = UnaryOp::kHardSigmoid; break;
  }
  const bool affine = act.scale != 1 || act.shift != 0;
  if (act.kind == ActivationKind::kNone && !affine) return;
  const simd::UnaryFn activate = act.kind == ActivationKind::kNone ? nullptr : simd::Unary(fn);
  const simd::UnaryFn scale = affine ? simd::Unary(UnaryOp::kScaleThenBias) : nullptr;
  ParallelFor(threads, n, 1 << 14, [&](int64_t first, int64_t last) {
    const size_t count = static_cast<size_t>(last - first);
    if (activate != nullptr) activate(data + first, data + first, count, p);
    if (scale != nullptr) scale(data + first, data + first, count, {act.scale, act.shift, 0});
  });
}

}  // namespace ampc
