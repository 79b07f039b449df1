// Gradients of reductions that are a function of one element of X, of Out and of its gradient: sum, mean, max, min, norms and logsumexp.
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/gradient/row_gradient.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

using Op1 = simd::RowGradient;
using functors::Params;

// Dims of X with 1 for those that went.
absl::StatusOr<Dims> Kept(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<bool> reduce, ReadReducedDims(view));
  Dims kept = view.InDesc("X").dims;
  for (size_t d = 0; d < kept.size(); ++d) kept[d] = reduce[d] ? 1 : kept[d];
  return kept;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const SpecView& view, const Dims& kept, Op1 op, Params<double> params) {
  const int g = view.In("Out@GRAD"), x = view.In("X"), out = view.In("Out");
  if (view.spec().outputs.empty()) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  const TensorDesc &to = view.spec().outputs[0], &from = view.spec().inputs[g];
  AMPC_RETURN_IF_ERROR(view.CheckType(to.dtype, {DType::kF32, DType::kF64}));
  if (StorageType(from.dtype) != StorageType(to.dtype)) {
    return view.Unsupported("Out has another type than X, which its gradient cannot have");
  }
  const std::optional<BroadcastPlan> plan = PlanBroadcast(to.dims, kept, -1, to.dims);
  if (!plan || from.NumElements() != TensorDesc{to.dtype, kept}.NumElements()) return view.Internal("the gradient of Out has another size");
  KernelTraits traits;
  if (StorageType(to.dtype) == DType::kF32) traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  const RowGradient gradient(*plan, GradientSide::kReduction, op, params, StorageType(to.dtype));
  return MakeLambdaKernel(std::move(traits), [gradient, g, x, out](const KernelArgs& args) {
    const void* from = args.inputs[g];
    gradient.Run(args.threads, {args.inputs[x], out < 0 ? from : args.inputs[out], from}, args.outputs[0], nullptr);
    return absl::OkStatus();
  });
}

// reduce_sum, reduce_mean, reduce_max, reduce_min, frobenius_norm and mean.
template <Op1 op>
absl::StatusOr<std::unique_ptr<Kernel>> MakeReduce(const KernelSpec& spec) {
  const SpecView view(spec);
  const std::string& type = view.op().type();
  const TensorDesc& x = view.InDesc("X");
  AMPC_ASSIGN_OR_RETURN(const Dims kept, Kept(view));
  const int64_t results = TensorDesc{x.dtype, kept}.NumElements();
  const bool mean = type == "mean_grad" || type == "reduce_mean_grad";
  return Make(view, kept, op, {mean && results > 0 ? static_cast<double>(results) / static_cast<double>(x.NumElements()) : 1, 0, 0});
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLogSumExp(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const Dims kept, Kept(view));
  return Make(view, kept, Op1::kLogSumExpGrad, {});
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePNorm(const KernelSpec& spec) {
  const SpecView view(spec);
  const double order = view.op().GetFloat("porder", 2);
  const Op1 op = std::isinf(order) ? Op1::kNormExtremeGrad
                 : order == 0      ? Op1::kScaledGrad  // a count: flat
                 : order == 1      ? Op1::kNormOneGrad
                 : order == 2      ? Op1::kNormTwoGrad
                                   : Op1::kNormPowerGrad;
  AMPC_ASSIGN_OR_RETURN(const Dims kept, Kept(view));
  return Make(view, kept, op, {order, 0, 0});
}

}  // namespace

absl::Status RegisterReduceGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"frobenius_norm_grad", &MakeReduce<Op1::kNormTwoGrad>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"logsumexp_grad", &MakeLogSumExp, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"mean_grad", &MakeReduce<Op1::kScaledGrad>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"p_norm_grad", &MakePNorm, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_max_grad", &MakeReduce<Op1::kExtremeGrad>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_mean_grad", &MakeReduce<Op1::kScaledGrad>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_min_grad", &MakeReduce<Op1::kExtremeGrad>, types}));
  return registry->Add({"reduce_sum_grad", &MakeReduce<Op1::kScaledGrad>, types});
}

}  // namespace ampc
