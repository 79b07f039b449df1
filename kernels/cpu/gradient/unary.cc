// Gradients of maps of one operand, of clip and pow too: a function of the gradient of the result and of X or Out.
#include <cmath>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/common/gradient_functors.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/gradient.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using functors::Params;
using simd::UnaryGradient;

constexpr int64_t kGrain = 1 << 14;

struct Row {
  const char* op;
  UnaryGradient functor;
  // Where a parameter is an attribute: its name and what it is without; null for `fixed` alone.
  struct Parameter {
    const char* name = nullptr;
    double fixed = 0;
  } a = {}, b = {}, c = {};
};

constexpr Row kRows[] = {
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

// Step functions: their slope is 0 wherever it exists.
constexpr const char* kFlat[] = {"ceil_grad", "floor_grad", "round_grad", "trunc_grad"};

double Read(const Op& op, const Row::Parameter& p) { return p.name == nullptr ? p.fixed : op.GetFloat(p.name, p.fixed); }

using DoubleFn = void (*)(const double* v, const double* g, double* out, int64_t n, const Params<double>& params);

template <class F>
void DoubleLoop(const double* v, const double* g, double* out, int64_t n, const Params<double>& params) {
  for (int64_t i = 0; i < n; ++i) out[i] = F::Apply(functors::ScalarMath<double>{}, v[i], g[i], params);
}

DoubleFn FindDouble(UnaryGradient op) {
#define AMPC_ENTRY(name) &DoubleLoop<functors::name>,
  static constexpr DoubleFn kTable[] = {AMPC_UNARY_GRADIENTS(AMPC_ENTRY)};
#undef AMPC_ENTRY
  return kTable[static_cast<int>(op)];
}

absl::Status CheckTypes(const SpecView& view) {
  const TensorDesc& out = view.spec().outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64}));
  for (const TensorDesc& in : view.spec().inputs) {
    if (in.NumElements() == 1) continue;  // a parameter may have another type
    if (StorageType(in.dtype) != StorageType(out.dtype)) return view.Internal("an operand has another type than the gradient");
    if (in.NumElements() != out.NumElements()) return view.Internal("an operand has another size than the gradient");
  }
  return absl::OkStatus();
}

// `read` gives the parameters from the arguments of a run.
template <typename ReadParams>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLoop(const SpecView& view, UnaryGradient functor, ReadParams read) {
  if (view.spec().outputs.empty()) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  AMPC_RETURN_IF_ERROR(CheckTypes(view));
  const int g_at = view.In("Out@GRAD"), x_at = view.In("X"), v_at = x_at >= 0 ? x_at : view.In("Out");
  const int64_t n = view.spec().outputs[0].NumElements();
  KernelTraits traits;
  traits.in_place_input = g_at;
  if (StorageType(view.spec().outputs[0].dtype) == DType::kF64) {
    return MakeLambdaKernel(traits, [=, fn = FindDouble(functor)](const KernelArgs& args) {
      const auto in = [&args](int i) { return static_cast<const double*>(args.inputs[i]); };
      const Params<double> params = read(args);
      ParallelFor(args.threads, n, kGrain, [&](int64_t first, int64_t last) {
        fn(in(v_at) + first, in(g_at) + first, static_cast<double*>(args.outputs[0]) + first, last - first, params);
      });
      return absl::OkStatus();
    });
  }
  traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  return MakeLambdaKernel(std::move(traits), [=, fn = simd::GradientOf(functor)](const KernelArgs& args) {
    const auto in = [&args](int i) { return static_cast<const float*>(args.inputs[i]); };
    const Params<double> wide = read(args);
    const Params<float> params{static_cast<float>(wide.a), static_cast<float>(wide.b), static_cast<float>(wide.c)};
    ParallelFor(args.threads, n, kGrain, [&](int64_t first, int64_t last) {
      fn(in(v_at) + first, in(g_at) + first, static_cast<float*>(args.outputs[0]) + first, static_cast<size_t>(last - first), params);
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const Row* row = std::begin(kRows);
  while (view.op().type() != row->op) ++row;  // registered for these ops only
  const UnaryGradient functor =
      row->functor == UnaryGradient::kGeluGrad && view.op().GetBool("approximate") ? UnaryGradient::kGeluTanhGrad : row->functor;
  const Params<double> params{Read(view.op(), row->a), Read(view.op(), row->b), Read(view.op(), row->c)};
  return MakeLoop(view, functor, [params](const KernelArgs&) { return params; });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeClip(const KernelSpec& spec) {
  const SpecView view(spec);
  const ScalarInput low(view, "Min", view.op().GetFloat("min"));
  const ScalarInput high(view, "Max", view.op().GetFloat("max"));
  return MakeLoop(view, UnaryGradient::kClipGrad, [low, high](const KernelArgs& args) {
    return Params<double>{low.Get(args), high.Get(args), 0};
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePow(const KernelSpec& spec) {
  const SpecView view(spec);
  const ScalarInput factor(view, "FactorTensor", view.op().GetFloat("factor", 1));
  const double known = factor.is_fixed() ? factor.Get({}) : 0.25;
  const UnaryGradient functor = known == 2   ? UnaryGradient::kSquareGrad
                                : known == 3 ? UnaryGradient::kCubeGrad
                                             : UnaryGradient::kPowScalarGrad;
  return MakeLoop(view, functor, [factor](const KernelArgs& args) { return Params<double>{factor.Get(args), 0, 0}; });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFlat(const KernelSpec& spec) {
  KernelTraits traits;
  traits.rounds_results = true;
  if (spec.outputs.empty()) return MakeLambdaKernel(traits, [](const KernelArgs&) { return absl::OkStatus(); });
  traits.in_place_input = 0;
  return MakeLambdaKernel(traits, [bytes = spec.outputs[0].StorageBytes()](const KernelArgs& args) {
    if (bytes > 0) std::memset(args.outputs[0], 0, static_cast<size_t>(bytes));
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterUnaryGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  const LayoutSupport any = LayoutSupport::kElementwise;
  for (const Row& row : kRows) AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, types, any}));
  for (const char* op : kFlat) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeFlat, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"clip_grad", &MakeClip, types, any}));
  return registry->Add({"pow_grad", &MakePow, types, any});
}

}  // namespace ampc
