#include "graph/ops/fused_steps.h"

#include <algorithm>

#include "absl/strings/string_view.h"

namespace ampc::ops {
namespace {

// Sorted.
constexpr absl::string_view kSteps[] = {
    "abs", "abs_grad", "acos", "acos_grad", "acosh", "acosh_grad", "amp_cast", "asin", "asin_grad", "asinh", "asinh_grad", "atan", "atan2",
    "atan_grad", "atanh", "atanh_grad", "brelu", "brelu_grad", "cast", "ceil", "celu", "celu_grad", "clip", "clip_grad", "cos", "cos_grad",
    "cosh", "cosh_grad", "elementwise_add", "elementwise_div", "elementwise_floordiv", "elementwise_fmax", "elementwise_fmin",
    "elementwise_max", "elementwise_min", "elementwise_mod", "elementwise_mul", "elementwise_pow", "elementwise_sub", "elu", "elu_grad",
    "erf", "erf_grad", "exp", "exp_grad", "expm1", "expm1_grad", "floor", "gelu", "gelu_grad", "hard_shrink", "hard_shrink_grad",
    "hard_sigmoid", "hard_sigmoid_grad", "hard_swish", "hard_swish_grad", "leaky_relu", "leaky_relu_grad", "log", "log10", "log10_grad",
    "log1p", "log1p_grad", "log2", "log2_grad", "log_grad", "logsigmoid", "logsigmoid_grad", "mish", "mish_grad", "pow", "pow_grad",
    "reciprocal", "reciprocal_grad", "relu", "relu6", "relu6_grad", "relu_grad", "round", "rsqrt", "rsqrt_grad", "scale", "selu",
    "selu_grad", "sigmoid", "sigmoid_grad", "sign", "silu", "silu_grad", "sin", "sin_grad", "sinh", "sinh_grad", "softplus",
    "softplus_grad", "softshrink", "softshrink_grad", "softsign", "softsign_grad", "sqrt", "sqrt_grad", "square", "square_grad", "stanh",
    "stanh_grad", "sum", "swish", "swish_grad", "tan", "tan_grad", "tanh", "tanh_grad", "tanh_shrink", "tanh_shrink_grad",
    "thresholded_relu", "thresholded_relu_grad", "trunc",
};

bool IsNarrowFloat(DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16; }

}  // namespace

bool MayBeFusedStep(const Op& op) {
  if (op.outputs().size() != 1 || op.inputs().empty() || op.inputs().size() > kMaxFusedOperands) return false;
  if (!std::binary_search(std::begin(kSteps), std::end(kSteps), absl::string_view(op.type()))) return false;
  for (const char* tensor : {"Min", "Max", "FactorTensor", "ScaleTensor"}) {
    if (op.input(tensor) != nullptr) return false;
  }
  for (const Var* var : op.inputs()) {
    if (!IsNarrowFloat(var->type.dtype) || !var->type.has_rank) return false;
  }
  return IsNarrowFloat(op.outputs()[0]->type.dtype) && op.outputs()[0]->type.has_rank;
}

int64_t StepAxis(const Op& step, int flat, int64_t rank) {
  const int64_t own = step.inputs()[flat]->type.rank();
  const int64_t axis = step.GetInt("axis", -1);
  return own == rank || axis < 0 ? rank - own : axis;
}

}  // namespace ampc::ops
