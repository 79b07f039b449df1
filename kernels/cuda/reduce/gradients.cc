// Gradients of reductions, cumsum and cumprod on a device.
#include <optional>

#include "graph/base/status_macros.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/reduce/cumulate.h"
#include "kernels/cuda/reduce/reduce_gradient.h"
#include "kernels/cuda/reduce/shape_of.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc::cuda {
namespace {

std::unique_ptr<Kernel> MakeNothing() {
  return MakeLambdaKernel({.implementation = "cuda:none", .rounds_results = true}, [](const KernelArgs&) { return absl::OkStatus(); });
}

// All of these need one result, of X's type.
absl::Status CheckTypes(const SpecView& view, int like) {
  const DType to = view.spec().outputs[0].dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(to, {DType::kF32, DType::kF64}));
  if (view.spec().inputs[like].dtype != to) return view.Unsupported("the device's kernel needs a gradient of its operand's type");
  return absl::OkStatus();
}

// Of the results kept by a reduction of X.
absl::StatusOr<ResultsOf> ReadResults(const SpecView& view, const std::vector<bool>& reduce) {
  const Dims& x = view.spec().outputs[0].dims;
  Dims kept = x;
  for (size_t d = 0; d < kept.size(); ++d) kept[d] = reduce[d] ? 1 : kept[d];
  const std::optional<BroadcastPlan> plan = PlanBroadcast(x, kept, -1, x);
  if (!plan || view.InDesc("Out@GRAD").NumElements() != TensorDesc{DType::kF32, kept}.NumElements()) {
    return view.Internal("the gradient of Out has another size");
  }
  ResultsOf results{.rows = plan->rows, .inner = plan->inner, .y_inner = plan->y_inner};
  AMPC_ASSIGN_OR_RETURN(results.outer, LoopsOf(view, plan->outer, plan->y_stride));
  return results;
}

ReductionGradient GradientOf(const std::string& type, const VectorNorm& norm) {
  if (type == "reduce_max_grad" || type == "reduce_min_grad") return ReductionGradient::kExtreme;
  if (type != "frobenius_norm_grad" && type != "logsumexp_grad" && type != "p_norm_grad") return ReductionGradient::kScaled;
  switch (norm.kind) {
    case VectorNormKind::kCount: return ReductionGradient::kScaled;  // flat
    case VectorNormKind::kOne: return ReductionGradient::kNormOne;
    case VectorNormKind::kTwo: return ReductionGradient::kNormTwo;
    case VectorNormKind::kPower: return ReductionGradient::kNormPower;
    case VectorNormKind::kLogSumExp: return ReductionGradient::kLogSumExp;
    default: return ReductionGradient::kNormExtreme;
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeReduce(const KernelSpec& spec) {
  if (spec.outputs.empty()) return MakeNothing();
  const SpecView view(spec);
  const std::string& type = view.op().type();
  const int x = view.In("X"), g = view.In("Out@GRAD"), out = view.In("Out") < 0 ? g : view.In("Out");
  AMPC_RETURN_IF_ERROR(CheckTypes(view, x));
  AMPC_ASSIGN_OR_RETURN(const std::vector<bool> reduce, ReadReducedDims(view));
  const VectorNorm norm = ReadVectorNorm(view.op());
  ReduceGradientParams p{.dtype = spec.outputs[0].dtype, .y = InputOf(view, out), .g = InputOf(view, g), .parameter = norm.order};
  AMPC_ASSIGN_OR_RETURN(p.at, ReadResults(view, reduce));
  const ReductionGradient op = GradientOf(type, norm);
  if (op == ReductionGradient::kScaled && type != "p_norm_grad") {
    const int64_t results = spec.inputs[g].NumElements();
    const bool mean = (type == "mean_grad" || type == "reduce_mean_grad") && results > 0;
    p.parameter = mean ? static_cast<double>(results) / static_cast<double>(spec.inputs[x].NumElements()) : 1;
  }
  return MakeDeviceKernel({.implementation = "cuda:reduce_gradient"}, [=](const KernelArgs& args, void* stream) {
    ReduceGradientParams run = p;
    run.x = args.inputs[x];
    run.y = At(p.y, args, out);
    run.g = At(p.g, args, g);
    run.dx = args.outputs[0];
    return LaunchReduceGradient(stream, op, run);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeReduceProduct(const KernelSpec& spec) {
  if (spec.outputs.empty()) return MakeNothing();
  const SpecView view(spec);
  const int x = view.In("X"), g = view.In("Out@GRAD");
  AMPC_RETURN_IF_ERROR(CheckTypes(view, x));
  AMPC_ASSIGN_OR_RETURN(const std::vector<bool> reduce, ReadReducedDims(view));
  AMPC_ASSIGN_OR_RETURN(const ReduceShape shape, ShapeOf(view, PlanReduce(spec.inputs[x].dims, reduce)));
  ReduceGradientParams p{.dtype = spec.outputs[0].dtype, .g = InputOf(view, g)};
  AMPC_ASSIGN_OR_RETURN(p.at, ReadResults(view, reduce));
  KernelTraits traits{.implementation = "cuda:reduce_gradient", .in_place_input = x, .workspace_bytes = ProductGradientBytes(shape)};
  return MakeDeviceKernel(std::move(traits), [=](const KernelArgs& args, void* stream) {
    ReduceGradientParams run = p;
    run.x = args.inputs[x];
    run.g = At(p.g, args, g);
    run.dx = args.outputs[0];
    return LaunchReduceProductGradient(stream, shape, run, args.workspace);
  });
}

// Element i of the operand got every gradient of a later sum: a sum that runs the other way.
absl::StatusOr<std::unique_ptr<Kernel>> MakeCumulativeSum(const KernelSpec& spec) {
  if (spec.outputs.empty()) return MakeNothing();
  const SpecView view(spec);
  const int g = view.In("Out@GRAD");
  AMPC_RETURN_IF_ERROR(CheckTypes(view, g));
  AMPC_ASSIGN_OR_RETURN(const Cumulation c, ReadCumulation(view, spec.outputs[0]));
  CumulateParams p{.rows = RowsOf(c), .exclusive = c.exclusive, .reverse = !c.reverse, .dtype = spec.outputs[0].dtype};
  SliceRows(&p);
  KernelTraits traits{
      .implementation = "cuda:scan", .in_place_input = g, .workspace_bytes = p.slices > 1 ? p.rows.rows() * p.slices * 8 : 0};
  return MakeDeviceKernel(std::move(traits), [p, g](const KernelArgs& args, void* stream) {
    CumulateParams run = p;
    run.x = args.inputs[g];
    run.out = args.outputs[0];
    run.workspace = args.workspace;
    return run.rows.size == 0 ? 0 : LaunchCumulate(stream, run);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeCumulativeProduct(const KernelSpec& spec) {
  if (spec.outputs.empty()) return MakeNothing();
  const SpecView view(spec);
  const int x = view.In("X"), out = view.In("Out"), g = view.In("Out@GRAD");
  for (int i : {x, out, g}) AMPC_RETURN_IF_ERROR(CheckTypes(view, i));
  AMPC_ASSIGN_OR_RETURN(const Cumulation c, ReadCumulation(view, spec.outputs[0]));
  const ProductGradientParams p{.rows = RowsOf(c), .dtype = spec.outputs[0].dtype};
  return MakeDeviceKernel({.implementation = "cuda:scan"}, [=](const KernelArgs& args, void* stream) {
    ProductGradientParams run = p;
    run.x = args.inputs[x];
    run.out = args.inputs[out];
    run.g = args.inputs[g];
    run.dx = args.outputs[0];
    return run.rows.size == 0 ? 0 : LaunchCumulativeProductGradient(stream, run);
  });
}

const std::vector<DType>& Floats() {
  static const auto* const types = new std::vector<DType>{DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  return *types;
}

}  // namespace

absl::Status RegisterReduceGradient(KernelRegistry* registry) {
  for (const char* op : {"frobenius_norm_grad", "logsumexp_grad", "mean_grad", "p_norm_grad", "reduce_max_grad", "reduce_mean_grad",
                         "reduce_min_grad", "reduce_sum_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeReduce, Floats()}));
  }
  return absl::OkStatus();
}

absl::Status RegisterReduceProdGradient(KernelRegistry* registry) {
  return registry->Add({"reduce_prod_grad", &MakeReduceProduct, Floats()});
}

absl::Status RegisterCumulateGradient(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"cumprod_grad", &MakeCumulativeProduct, Floats()}));
  return registry->Add({"cumsum_grad", &MakeCumulativeSum, Floats()});
}

}  // namespace ampc::cuda
