#include "kernels/spec/elementwise_spec.h"

#include <algorithm>

namespace ampc {
namespace {

using functors::Params;
using functors::RowGradient;
using functors::UnaryGradient;
using functors::UnaryOp;

#define AMPC_ROW(op, functor, ...) {op, UnaryOp::k##functor __VA_OPT__(, ) __VA_ARGS__},
constexpr UnaryRow kUnary[] = {AMPC_ACTIVATION_OPS(AMPC_ROW) AMPC_ARITHMETIC_OPS(AMPC_ROW) AMPC_TRANSCENDENTAL_OPS(AMPC_ROW)};
#undef AMPC_ROW

constexpr BinaryRow kBinary[] = {
    {"elementwise_add", Op2::kAdd}, {"elementwise_sub", Op2::kSub},           {"elementwise_mul", Op2::kMul},
    {"elementwise_div", Op2::kDiv}, {"elementwise_max", Op2::kMax},           {"elementwise_min", Op2::kMin},
    {"elementwise_pow", Op2::kPow}, {"elementwise_fmax", Op2::kFMax},         {"elementwise_fmin", Op2::kFMin},
    {"elementwise_mod", Op2::kMod}, {"elementwise_floordiv", Op2::kFloorDiv}, {"atan2", Op2::kAtan2},
};

constexpr LogicRow kLogic[] = {
    {"equal", LogicOp::kEqual},          {"not_equal", LogicOp::kNotEqual},   {"less_than", LogicOp::kLess},
    {"less_equal", LogicOp::kLessEqual}, {"greater_than", LogicOp::kGreater}, {"greater_equal", LogicOp::kGreaterEqual},
    {"logical_and", LogicOp::kAnd},      {"logical_or", LogicOp::kOr},        {"logical_xor", LogicOp::kXor},
    {"bitwise_and", LogicOp::kBitAnd},   {"bitwise_or", LogicOp::kBitOr},     {"bitwise_xor", LogicOp::kBitXor},
    {"logical_not", LogicOp::kNot},      {"isfinite_v2", LogicOp::kIsFinite}, {"isinf_v2", LogicOp::kIsInf},
    {"isnan_v2", LogicOp::kIsNaN},       {"bitwise_not", LogicOp::kBitNot},
};

#define AMPC_ROW(op, functor, ...) {op, UnaryGradient::k##functor __VA_OPT__(, ) __VA_ARGS__},
constexpr UnaryGradientRow kUnaryGradients[] = {AMPC_ACTIVATION_GRADIENT_OPS(AMPC_ROW) AMPC_ARITHMETIC_GRADIENT_OPS(AMPC_ROW)
                                                    AMPC_TRANSCENDENTAL_GRADIENT_OPS(AMPC_ROW)};
#undef AMPC_ROW

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

double Read(const Op& op, const Parameter& p) { return p.name == nullptr ? p.fixed : op.GetFloat(p.name, p.fixed); }

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};

}  // namespace

absl::Span<const UnaryRow> UnaryRows() { return kUnary; }
const UnaryRow* FindUnary(const Op& op) { return Find(UnaryRows(), op); }
Params<double> ParamsOf(const UnaryRow& row, const Op& op) { return {Read(op, row.a), Read(op, row.b), Read(op, row.c)}; }
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
    case UnaryOp::kBiasThenScale: return true;
    default: return false;
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
    case LogicOp::kBitNot: break;
    default: types.insert(types.begin(), std::begin(kFloats), std::end(kFloats));
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
