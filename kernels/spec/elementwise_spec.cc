#include "kernels/spec/elementwise_spec.h"

#include <algorithm>

namespace ampc {
namespace {

using functors::Params;
using functors::RowGradient;
using functors::UnaryGradient;
using functors::UnaryOp;

Params<double> None(const Op&) { return {}; }

constexpr UnaryRow kUnary[] = {
    {"abs", UnaryOp::kAbs, &None},
    {"acos", UnaryOp::kAcos, &None},
    {"acosh", UnaryOp::kAcosh, &None},
    {"asin", UnaryOp::kAsin, &None},
    {"asinh", UnaryOp::kAsinh, &None},
    {"atan", UnaryOp::kAtan, &None},
    {"atanh", UnaryOp::kAtanh, &None},
    {"brelu", UnaryOp::kClip,
     [](const Op& op) {
       return Params<double>{op.GetFloat("t_min", 0), op.GetFloat("t_max", 24), 0};
     }},
    {"ceil", UnaryOp::kCeil, &None},
    {"celu", UnaryOp::kCelu,
     [](const Op& op) {
       return Params<double>{op.GetFloat("alpha", 1), 0, 0};
     }},
    {"cos", UnaryOp::kCos, &None},
    {"cosh", UnaryOp::kCosh, &None},
    {"elu", UnaryOp::kElu,
     [](const Op& op) {
       return Params<double>{op.GetFloat("alpha", 1), 0, 0};
     }},
    {"erf", UnaryOp::kErf, &None},
    {"exp", UnaryOp::kExp, &None},
    {"expm1", UnaryOp::kExpm1, &None},
    {"floor", UnaryOp::kFloor, &None},
    {"gelu", UnaryOp::kGelu, &None},
    {"hard_shrink", UnaryOp::kHardShrink,
     [](const Op& op) {
       return Params<double>{op.GetFloat("threshold", 0.5), 0, 0};
     }},
    {"hard_sigmoid", UnaryOp::kHardSigmoid,
     [](const Op& op) {
       return Params<double>{op.GetFloat("slope", 0.2f), op.GetFloat("offset", 0.5), 0};
     }},
    {"hard_swish", UnaryOp::kHardSwish,
     [](const Op& op) {
       return Params<double>{op.GetFloat("threshold", 6), op.GetFloat("scale", 6), op.GetFloat("offset", 3)};
     }},
    {"leaky_relu", UnaryOp::kLeakyRelu,
     [](const Op& op) {
       return Params<double>{op.GetFloat("alpha", 0.02f), 0, 0};
     }},
    {"log", UnaryOp::kLog, &None},
    {"log10", UnaryOp::kLog10, &None},
    {"log1p", UnaryOp::kLog1p, &None},
    {"log2", UnaryOp::kLog2, &None},
    {"logsigmoid", UnaryOp::kLogSigmoid, &None},
    {"mish", UnaryOp::kMish,
     [](const Op& op) {
       return Params<double>{op.GetFloat("threshold", 20), 0, 0};
     }},
    {"reciprocal", UnaryOp::kReciprocal, &None},
    {"relu", UnaryOp::kRelu, &None},
    {"relu6", UnaryOp::kClip,
     [](const Op& op) {
       return Params<double>{0, op.GetFloat("threshold", 6), 0};
     }},
    {"round", UnaryOp::kRound, &None},
    {"rsqrt", UnaryOp::kRsqrt, &None},
    {"selu", UnaryOp::kSelu,
     [](const Op& op) {
       return Params<double>{op.GetFloat("scale", 1), op.GetFloat("alpha", 1), 0};
     }},
    {"sigmoid", UnaryOp::kSigmoid, &None},
    {"sign", UnaryOp::kSign, &None},
    {"silu", UnaryOp::kSwish,
     [](const Op&) {
       return Params<double>{1, 0, 0};
     }},
    {"sin", UnaryOp::kSin, &None},
    {"sinh", UnaryOp::kSinh, &None},
    {"softplus", UnaryOp::kSoftplus,
     [](const Op& op) {
       return Params<double>{op.GetFloat("beta", 1), op.GetFloat("threshold", 20), 0};
     }},
    {"softshrink", UnaryOp::kSoftShrink,
     [](const Op& op) {
       return Params<double>{op.GetFloat("lambda", 0.5), 0, 0};
     }},
    {"softsign", UnaryOp::kSoftsign, &None},
    {"sqrt", UnaryOp::kSqrt, &None},
    {"square", UnaryOp::kSquare, &None},
    {"stanh", UnaryOp::kStanh,
     [](const Op& op) {
       return Params<double>{op.GetFloat("scale_a", 1), op.GetFloat("scale_b", 1), 0};
     }},
    {"swish", UnaryOp::kSwish,
     [](const Op& op) {
       return Params<double>{op.GetFloat("beta", 1), 0, 0};
     }},
    {"tan", UnaryOp::kTan, &None},
    {"tanh", UnaryOp::kTanh, &None},
    {"tanh_shrink", UnaryOp::kTanhShrink, &None},
    {"thresholded_relu", UnaryOp::kThresholdedRelu,
     [](const Op& op) {
       return Params<double>{op.GetFloat("threshold", 1), 0, 0};
     }},
    {"trunc", UnaryOp::kTrunc, &None},
};

constexpr BinaryRow kBinary[] = {
    {"elementwise_add", Op2::kAdd},   {"elementwise_sub", Op2::kSub},   {"elementwise_mul", Op2::kMul},
    {"elementwise_div", Op2::kDiv},   {"elementwise_max", Op2::kMax},   {"elementwise_min", Op2::kMin},
    {"elementwise_pow", Op2::kPow},   {"elementwise_fmax", Op2::kFMax}, {"elementwise_fmin", Op2::kFMin},
    {"elementwise_mod", Op2::kMod},   {"elementwise_floordiv", Op2::kFloorDiv}, {"atan2", Op2::kAtan2},
};

constexpr LogicRow kLogic[] = {
    {"equal", LogicOp::kEqual},           {"not_equal", LogicOp::kNotEqual},         {"less_than", LogicOp::kLess},
    {"less_equal", LogicOp::kLessEqual},  {"greater_than", LogicOp::kGreater},       {"greater_equal", LogicOp::kGreaterEqual},
    {"logical_and", LogicOp::kAnd},       {"logical_or", LogicOp::kOr},              {"logical_xor", LogicOp::kXor},
    {"bitwise_and", LogicOp::kBitAnd},    {"bitwise_or", LogicOp::kBitOr},           {"bitwise_xor", LogicOp::kBitXor},
    {"logical_not", LogicOp::kNot},       {"isfinite_v2", LogicOp::kIsFinite},       {"isinf_v2", LogicOp::kIsInf},
    {"isnan_v2", LogicOp::kIsNaN},        {"bitwise_not", LogicOp::kBitNot},
};

constexpr UnaryGradientRow kUnaryGradients[] = {
    {"abs_grad", UnaryGradient::kAbsGrad},
    {"acos_grad", UnaryGradient::kAcosGrad},
    {"acosh_grad", UnaryGradient::kAcoshGrad},
    {"asin_grad", UnaryGradient::kAsinGrad},
    {"asinh_grad", UnaryGradient::kAsinhGrad},
    {"atan_grad", UnaryGradient::kAtanGrad},
    {"atanh_grad", UnaryGradient::kAtanhGrad},
    {"brelu_grad", UnaryGradient::kClipGrad, {"t_min", 0}, {"t_max", 24}},
    {"celu_grad", UnaryGradient::kCeluGrad, {"alpha", 1}},
    {"cos_grad", UnaryGradient::kCosGrad},
    {"cosh_grad", UnaryGradient::kCoshGrad},
    {"elu_grad", UnaryGradient::kEluGrad, {"alpha", 1}},
    {"erf_grad", UnaryGradient::kErfGrad},
    {"exp_grad", UnaryGradient::kExpGrad},
    {"expm1_grad", UnaryGradient::kExpm1Grad},
    {"gelu_grad", UnaryGradient::kGeluGrad},
    {"hard_shrink_grad", UnaryGradient::kHardShrinkGrad, {"threshold", 0.5}},
    {"hard_sigmoid_grad", UnaryGradient::kHardSigmoidGrad, {"slope", 0.2f}},
    {"hard_swish_grad", UnaryGradient::kHardSwishGrad, {"threshold", 6}, {"scale", 6}, {"offset", 3}},
    {"leaky_relu_grad", UnaryGradient::kLeakyReluGrad, {"alpha", 0.02f}},
    {"log_grad", UnaryGradient::kLogGrad, {nullptr, 1}},
    {"log10_grad", UnaryGradient::kLogGrad, {nullptr, 0.43429448190325182765}},
    {"log1p_grad", UnaryGradient::kLog1pGrad},
    {"log2_grad", UnaryGradient::kLogGrad, {nullptr, 1.44269504088896340736}},
    {"logsigmoid_grad", UnaryGradient::kLogSigmoidGrad},
    {"mish_grad", UnaryGradient::kMishGrad, {"threshold", 20}},
    {"reciprocal_grad", UnaryGradient::kReciprocalGrad},
    {"relu_grad", UnaryGradient::kReluGrad},
    {"relu6_grad", UnaryGradient::kClipGrad, {nullptr, 0}, {"threshold", 6}},
    {"rsqrt_grad", UnaryGradient::kRsqrtGrad},
    {"selu_grad", UnaryGradient::kSeluGrad, {"scale", 1}, {"alpha", 1}},
    {"sigmoid_grad", UnaryGradient::kSigmoidGrad},
    {"silu_grad", UnaryGradient::kSwishGrad, {nullptr, 1}},
    {"sin_grad", UnaryGradient::kSinGrad},
    {"sinh_grad", UnaryGradient::kSinhGrad},
    {"softplus_grad", UnaryGradient::kSoftplusGrad, {"beta", 1}, {"threshold", 20}},
    {"softshrink_grad", UnaryGradient::kHardShrinkGrad, {"lambda", 0.5}},
    {"softsign_grad", UnaryGradient::kSoftsignGrad},
    {"sqrt_grad", UnaryGradient::kSqrtGrad},
    {"square_grad", UnaryGradient::kSquareGrad},
    {"stanh_grad", UnaryGradient::kStanhGrad, {"scale_a", 1}, {"scale_b", 1}},
    {"swish_grad", UnaryGradient::kSwishGrad, {"beta", 1}},
    {"tan_grad", UnaryGradient::kTanGrad},
    {"tanh_grad", UnaryGradient::kTanhGrad},
    {"tanh_shrink_grad", UnaryGradient::kTanhShrinkGrad},
    {"thresholded_relu_grad", UnaryGradient::kThresholdedReluGrad, {"threshold", 1}},
};

constexpr const char* kFlat[] = {"ceil_grad", "floor_grad", "round_grad", "trunc_grad"};

constexpr BinaryGradientRow kBinaryGradients[] = {
    {"elementwise_add_grad", RowGradient::kFirstGrad, RowGradient::kFirstGrad},
    {"elementwise_sub_grad", RowGradient::kFirstGrad, RowGradient::kSubGradY},
    {"elementwise_mul_grad", RowGradient::kMulGradX, RowGradient::kMulGradY},
    {"elementwise_div_grad", RowGradient::kDivGradX, RowGradient::kDivGradY},
    {"elementwise_max_grad", RowGradient::kMaxGradX, RowGradient::kMaxGradY},
    {"elementwise_min_grad", RowGradient::kMinGradX, RowGradient::kMinGradY},
    {"elementwise_fmax_grad", RowGradient::kFMaxGradX, RowGradient::kFMaxGradY},
    {"elementwise_fmin_grad", RowGradient::kFMinGradX, RowGradient::kFMinGradY},
    {"elementwise_pow_grad", RowGradient::kPowGradX, RowGradient::kPowGradY},
    {"elementwise_mod_grad", RowGradient::kFirstGrad, RowGradient::kModGradY},
    {"atan2_grad", RowGradient::kAtan2GradX, RowGradient::kAtan2GradY, "X1", "X2"},
};

template <class Row>
const Row* Find(absl::Span<const Row> rows, const Op& op) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&op](const Row& row) { return op.type() == row.op; });
  return at == rows.end() ? nullptr : &*at;
}

double Read(const Op& op, const UnaryGradientRow::Parameter& p) { return p.name == nullptr ? p.fixed : op.GetFloat(p.name, p.fixed); }

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};

}  // namespace

absl::Span<const UnaryRow> UnaryRows() { return kUnary; }
const UnaryRow* FindUnary(const Op& op) { return Find(UnaryRows(), op); }
UnaryOp FunctorOf(const UnaryRow& row, const Op& op) {
  return row.functor == UnaryOp::kGelu && op.GetBool("approximate") ? UnaryOp::kGeluTanh : row.functor;
}

bool HasIntegers(UnaryOp functor) {
  switch (functor) {
    case UnaryOp::kRelu:
    case UnaryOp::kAbs:
    case UnaryOp::kSquare:
    case UnaryOp::kTrunc:
    case UnaryOp::kSign:
    case UnaryOp::kClip:
    case UnaryOp::kPowScalar:
    case UnaryOp::kScaleThenBias:
    case UnaryOp::kBiasThenScale:
      return true;
    default:
      return false;
  }
}

UnaryOp PowerFunctor(double exponent) {
  return exponent == 1     ? UnaryOp::kScaleThenBias
         : exponent == 2   ? UnaryOp::kSquare
         : exponent == 3   ? UnaryOp::kCube
         : exponent == -1  ? UnaryOp::kReciprocal
         : exponent == 0.5 ? UnaryOp::kPowHalf
                           : UnaryOp::kPowScalar;
}

absl::Span<const BinaryRow> BinaryRows() { return kBinary; }
const BinaryRow* FindBinary(const Op& op) { return Find(BinaryRows(), op); }
std::vector<DType> TypesOf(const BinaryRow& row) {
  std::vector<DType> types(std::begin(kFloats), std::end(kFloats));
  if (row.functor != Op2::kAtan2) types.insert(types.end(), {DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64});
  return types;
}

absl::Span<const LogicRow> LogicRows() { return kLogic; }
const LogicRow* FindLogic(const Op& op) { return Find(LogicRows(), op); }
std::vector<DType> TypesOf(const LogicRow& row) {
  std::vector<DType> types = {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64};
  switch (row.functor) {
    case LogicOp::kBitAnd:
    case LogicOp::kBitOr:
    case LogicOp::kBitXor:
    case LogicOp::kBitNot:
      break;
    default:
      types.insert(types.begin(), std::begin(kFloats), std::end(kFloats));
  }
  return types;
}

absl::Span<const UnaryGradientRow> UnaryGradientRows() { return kUnaryGradients; }
const UnaryGradientRow* FindUnaryGradient(const Op& op) { return Find(UnaryGradientRows(), op); }
UnaryGradient FunctorOf(const UnaryGradientRow& row, const Op& op) {
  return row.functor == UnaryGradient::kGeluGrad && op.GetBool("approximate") ? UnaryGradient::kGeluTanhGrad : row.functor;
}
Params<double> ParamsOf(const UnaryGradientRow& row, const Op& op) { return {Read(op, row.a), Read(op, row.b), Read(op, row.c)}; }
absl::Span<const char* const> FlatGradients() { return kFlat; }
UnaryGradient PowerGradient(double factor) {
  return factor == 2 ? UnaryGradient::kSquareGrad : factor == 3 ? UnaryGradient::kCubeGrad : UnaryGradient::kPowScalarGrad;
}

absl::Span<const BinaryGradientRow> BinaryGradientRows() { return kBinaryGradients; }
const BinaryGradientRow* FindBinaryGradient(const Op& op) { return Find(BinaryGradientRows(), op); }

PreluShape PreluShapeOf(const Op& op, absl::Span<const int64_t> x) {
  const std::string mode = op.GetString("mode");
  const int64_t rank = static_cast<int64_t>(x.size());
  const int64_t channel = mode != "channel" ? -1 : op.GetString("data_format") == "NHWC" ? rank - 1 : 1;
  PreluShape s;
  for (int64_t d = 0; d < rank; ++d) {
    const bool own = d == channel || (mode == "element" && d > 0);
    (own ? s.slopes : mode == "all" || (mode == "channel" && d > channel) ? s.inner : s.outer) *= x[d];
  }
  return s;
}

double DropoutFactor(const Op& op) {
  const double p = op.GetFloat("dropout_prob", 0.5);
  const bool upscale = op.GetString("dropout_implementation", "downgrade_in_infer") == "upscale_in_train";
  // The difference in the type of the attribute: 1 - 0.1f is what a program trained with 0.1f means.
  if (op.GetBool("is_test")) return upscale ? 1 : static_cast<double>(1.0f - static_cast<float>(p));
  return !upscale ? 1 : p == 1 ? 0 : 1 / (1 - p);
}

}  // namespace ampc
