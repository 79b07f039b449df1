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

}  // namespace

absl::StatusOr<Activation> ReadActivation(const Op& op) {
  std::string name = op.GetString("fuse_activation");
  if (name.empty()) name = op.GetString("activation_type");
  if (name.empty() && (op.GetBool("fuse_relu") || op.GetBool("fuse_with_relu"))) name = "relu";
  if (name.empty() && op.GetBool("fuse_brelu")) {
    return Activation{ActivationKind::kRelu6, static_cast<float>(op.GetFloat("fuse_brelu_threshold", 6)), 0};
  }
  if (name.empty() || name == "identity") return Activation{};
  for (const Row& row : kRows) {
    if (name != row.name) continue;
    Activation act{row.kind, row.alpha, row.beta};
    if (op.explicit_attr("fuse_alpha") != nullptr) act.alpha = static_cast<float>(op.GetFloat("fuse_alpha"));
    if (op.explicit_attr("fuse_beta") != nullptr) act.beta = static_cast<float>(op.GetFloat("fuse_beta"));
    if (act.kind == ActivationKind::kHardSwish) act.alpha = 6;
    return act;
  }
  return UnsupportedError(absl::StrCat(Describe(op), ": the fused activation '", name, "' has no kernel"));
}

void ApplyActivation(const Activation& act, int threads, float* data, int64_t n) {
  using simd::UnaryOp;
  UnaryOp fn = UnaryOp::kRelu;
  simd::Params<float> p{act.alpha, act.beta, 0};
  switch (act.kind) {
    case ActivationKind::kNone: return;
    case ActivationKind::kRelu: break;
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
  const simd::UnaryFn run = simd::Unary(fn);
  ParallelFor(threads, n, 1 << 14, [&](int64_t first, int64_t last) { run(data + first, data + first, static_cast<size_t>(last - first), p); });
}

}  // namespace ampc
