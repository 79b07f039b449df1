// Gradients of maps of one operand, of clip and pow too: a function of the gradient of the result and of X or Out.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/common/gradient_functors.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/gradient.h"
#include "kernels/parallel.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

using functors::Params;
using simd::UnaryGradient;

constexpr int64_t kGrain = 1 << 14;

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
  const UnaryGradientRow* row = FindUnaryGradient(view.op());
  const Params<double> params = ParamsOf(*row, view.op());
  return MakeLoop(view, FunctorOf(*row, view.op()), [params](const KernelArgs&) { return params; });
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
  return MakeLoop(view, PowerGradient(factor.is_fixed() ? factor.Get({}) : 0.25), [factor](const KernelArgs& args) {
    return Params<double>{factor.Get(args), 0, 0};
  });
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
  for (const UnaryGradientRow& row : UnaryGradientRows()) AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, types, any}));
  for (const char* op : FlatGradients()) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeFlat, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"clip_grad", &MakeClip, types, any}));
  return registry->Add({"pow_grad", &MakePow, types, any});
}

}  // namespace ampc
