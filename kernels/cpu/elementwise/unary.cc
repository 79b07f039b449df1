// Unary maps whose parameters are attributes.
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/elementwise/unary_loop.h"

namespace ampc {
namespace {

using functors::Params;
using simd::UnaryOp;

struct UnaryRow {
  const char* op;
  UnaryOp functor;
  Params<double> (*params)(const Op& op);
};

Params<double> None(const Op&) { return {}; }

UnaryOp FunctorOf(const Op& op, const UnaryRow& row) {
  return row.functor == UnaryOp::kGelu && op.GetBool("approximate") ? UnaryOp::kGeluTanh : row.functor;
}

constexpr UnaryRow kRows[] = {
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

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const UnaryRow* row = std::begin(kRows);
  while (view.op().type() != row->op) ++row;  // registered for these ops only
  const UnaryOp functor = FunctorOf(view.op(), *row);
  const DType dtype = spec.outputs[0].dtype;
  if (!UnaryLoop::Supports(functor, dtype) || StorageType(spec.inputs[0].dtype) != StorageType(dtype)) {
    return view.Unsupported(
        absl::StrCat("there is no cpu kernel for ", std::string(Name(spec.inputs[0].dtype)), "; f32, f16, bf16 and f64 have one"));
  }
  const UnaryLoop loop(functor, dtype, spec.outputs[0].NumElements());
  return MakeLambdaKernel(loop.traits(), [loop, params = row->params(view.op())](const KernelArgs& args) {
    loop.Run(params, args);
    return absl::OkStatus();
  });
}

std::vector<DType> TypesOf(UnaryOp functor) {
  std::vector<DType> types;
  for (DType t : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    if (UnaryLoop::Supports(functor, t)) types.push_back(t);
  }
  return types;
}

}  // namespace

absl::Status RegisterUnary(KernelRegistry* registry) {
  for (const UnaryRow& row : kRows) AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, TypesOf(row.functor), LayoutSupport::kElementwise}));
  return absl::OkStatus();
}

}  // namespace ampc
