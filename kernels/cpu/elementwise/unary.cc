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
    {"erf", UnaryOp::kErf, &None},
    {"exp", UnaryOp::kExp, &None},
    {"gelu", UnaryOp::kGelu, &None},
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
    {"reciprocal", UnaryOp::kReciprocal, &None},
    {"relu", UnaryOp::kRelu, &None},
    {"relu6", UnaryOp::kClip,
     [](const Op& op) {
       return Params<double>{0, op.GetFloat("threshold", 6), 0};
     }},
    {"rsqrt", UnaryOp::kRsqrt, &None},
    {"sigmoid", UnaryOp::kSigmoid, &None},
    {"silu", UnaryOp::kSwish,
     [](const Op&) {
       return Params<double>{1, 0, 0};
     }},
    {"sqrt", UnaryOp::kSqrt, &None},
    {"square", UnaryOp::kSquare, &None},
    {"swish", UnaryOp::kSwish,
     [](const Op& op) {
       return Params<double>{op.GetFloat("beta", 1), 0, 0};
     }},
    {"tanh", UnaryOp::kTanh, &None},
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
