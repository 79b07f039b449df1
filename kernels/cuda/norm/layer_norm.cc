// layer_norm and its gradient on a device.
#include "kernels/cuda/norm/layer_norm.h"

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/reduce/shape_of.h"
#include "kernels/spec/norm_spec.h"

namespace ampc::cuda {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const int x = view.In("X"), scale = view.In("Scale"), bias = view.In("Bias"), y = view.Out("Y"), mean = view.Out("Mean"),
            variance = view.Out("Variance");
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[x].dtype, {DType::kF32}));
  if (spec.outputs[y].dtype != spec.inputs[x].dtype) return view.Unsupported("the device's kernel needs Y of the type of X");
  const LayerNormShape shape = ReadLayerNorm(view.op(), spec.inputs[x].dims);
  LayerNormParams p;
  p.rows = shape.rows;
  p.size = shape.size;
  p.epsilon = shape.epsilon;
  p.dtype = spec.inputs[x].dtype;
  p.scale = InputOf(view, scale);
  p.bias = InputOf(view, bias);
  p.mean = OutputOf(view, mean);
  p.variance = OutputOf(view, variance);
  KernelTraits traits;
  traits.implementation = "cuda:layer_norm";
  traits.in_place_input = y == 0 ? x : -1;
  return MakeDeviceKernel(std::move(traits), [=](const KernelArgs& args, void* stream) {
    LayerNormParams run = p;
    run.x = args.inputs[x];
    run.scale = At(p.scale, args, scale);
    run.bias = At(p.bias, args, bias);
    run.y = args.outputs[y];
    run.mean = At(p.mean, args, mean);
    run.variance = At(p.variance, args, variance);
    return LaunchLayerNorm(stream, run);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const int x = view.In("X"), scale = view.In("Scale"), mean = view.In("Mean"), variance = view.In("Variance"), g = view.In("Y@GRAD");
  const int dx = view.Out("X@GRAD"), dscale = view.Out("Scale@GRAD"), dbias = view.Out("Bias@GRAD");
  const DType type = spec.inputs[x].dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(type, {DType::kF32}));
  if (spec.inputs[g].dtype != type || (dx >= 0 && spec.outputs[dx].dtype != type)) {
    return view.Unsupported("the device's kernel needs gradients of the type of X");
  }
  const LayerNormShape shape = ReadLayerNorm(view.op(), spec.inputs[x].dims);
  LayerNormGradientParams p;
  p.rows = shape.rows;
  p.size = shape.size;
  p.epsilon = shape.epsilon;
  p.dtype = type;
  p.scale = InputOf(view, scale);
  p.mean = InputOf(view, mean);
  p.variance = InputOf(view, variance);
  p.dscale = OutputOf(view, dscale);
  p.dbias = OutputOf(view, dbias);
  AMPC_ASSIGN_OR_RETURN(p.columns, ShapeOf(view, PlanReduce({shape.rows, shape.size}, {true, false})));
  KernelTraits traits;
  traits.implementation = "cuda:layer_norm_gradient";
  traits.workspace_bytes = LayerNormGradientBytes(p.rows, p.columns);
  return MakeDeviceKernel(std::move(traits), [=](const KernelArgs& args, void* stream) {
    LayerNormGradientParams run = p;
    run.x = args.inputs[x];
    run.g = args.inputs[g];
    run.scale = At(p.scale, args, scale);
    run.mean = At(p.mean, args, mean);
    run.variance = At(p.variance, args, variance);
    run.dx = dx < 0 ? nullptr : args.outputs[dx];
    run.dscale = At(p.dscale, args, dscale);
    run.dbias = At(p.dbias, args, dbias);
    run.workspace = args.workspace;
    return LaunchLayerNormGradient(stream, run);
  });
}

}  // namespace

absl::Status RegisterLayerNorm(KernelRegistry* registry) {
  return registry->Add({"layer_norm", &Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

absl::Status RegisterLayerNormGradient(KernelRegistry* registry) {
  return registry->Add({"layer_norm_grad", &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc::cuda
