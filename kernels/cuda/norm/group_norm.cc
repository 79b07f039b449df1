// group_norm, instance_norm and their gradients on a device.
#include "kernels/cuda/norm/group_norm.h"

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/reduce/shape_of.h"
#include "kernels/spec/norm_spec.h"

namespace ampc::cuda {
namespace {

// The part of the parameters that forward op and gradient share.
absl::StatusOr<GroupNormParams> Read(const SpecView& view, bool instance) {
  const TensorDesc& x = view.InDesc("X");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32}));
  const NormShape n = ReadNormShape(view.op(), x);
  GroupNormParams p;
  p.images = n.images;
  p.channels = n.channels;
  p.spatial = n.spatial;
  p.groups = n.groups;
  p.last = n.last;
  p.inverted = instance;
  p.epsilon = n.epsilon;
  p.dtype = x.dtype;
  p.scale = InputOf(view, view.In("Scale"));
  const ReducePlan plan = n.last ? PlanReduce({n.images, n.spatial, n.groups, p.size()}, {false, true, false, true})
                                 : PlanReduce({p.num_groups(), p.count()}, {false, true});
  AMPC_ASSIGN_OR_RETURN(p.of_groups, ShapeOf(view, plan));
  return p;
}

// Tensors like X: its type and layout.
absl::Status CheckLike(const SpecView& view, const TensorDesc& t) {
  const TensorDesc& x = view.InDesc("X");
  if (t.layout != x.layout) return view.Unsupported("the device's kernel needs all in the layout of X");
  if (t.dtype != x.dtype) return view.Unsupported("the device's kernel needs all of the type of X");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const bool instance = view.op().type() == "instance_norm";
  const int x = view.In("X"), scale = view.In("Scale"), bias = view.In("Bias"), y = view.Out("Y");
  const int mean = view.Out(instance ? "SavedMean" : "Mean"), variance = view.Out(instance ? "SavedVariance" : "Variance");
  AMPC_ASSIGN_OR_RETURN(GroupNormParams p, Read(view, instance));
  AMPC_RETURN_IF_ERROR(CheckLike(view, spec.outputs[y]));
  p.bias = InputOf(view, bias);
  p.mean = OutputOf(view, mean);
  p.variance = OutputOf(view, variance);
  KernelTraits traits;
  traits.implementation = "cuda:group_norm";
  traits.in_place_input = y == 0 ? x : -1;
  traits.workspace_bytes = GroupNormBytes(p);
  return MakeDeviceKernel(std::move(traits), [=](const KernelArgs& args, void* stream) {
    GroupNormParams run = p;
    run.x = args.inputs[x];
    run.scale = At(p.scale, args, scale);
    run.bias = At(p.bias, args, bias);
    run.y = args.outputs[y];
    run.mean = At(p.mean, args, mean);
    run.variance = At(p.variance, args, variance);
    run.workspace = args.workspace;
    return LaunchGroupNorm(stream, run);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const bool instance = view.op().type() == "instance_norm_grad";
  const int x = view.In("X"), scale = view.In("Scale"), g = view.In("Y@GRAD");
  const int dx = view.Out("X@GRAD"), dscale = view.Out("Scale@GRAD"), dbias = view.Out("Bias@GRAD");
  const int mean = view.In(instance ? "SavedMean" : "Mean"), variance = view.In(instance ? "SavedVariance" : "Variance");
  AMPC_ASSIGN_OR_RETURN(GroupNormParams p, Read(view, instance));
  AMPC_RETURN_IF_ERROR(CheckLike(view, spec.inputs[g]));
  if (dx >= 0) AMPC_RETURN_IF_ERROR(CheckLike(view, spec.outputs[dx]));
  const bool saved = mean >= 0 && variance >= 0;
  for (int i : {mean, variance}) {
    if (saved && spec.inputs[i].NumElements() != p.num_groups()) return view.Internal("a saved statistic has the wrong size");
  }
  const ReducePlan plan = p.last ? PlanReduce({p.images, p.spatial, p.channels}, {false, true, false})
                                 : PlanReduce({p.num_channels(), p.spatial}, {false, true});
  AMPC_ASSIGN_OR_RETURN(p.of_channels, ShapeOf(view, plan));
  p.saved_mean = InputOf(view, mean);
  p.saved_variance = InputOf(view, variance);
  p.dscale = OutputOf(view, dscale);
  p.dbias = OutputOf(view, dbias);
  KernelTraits traits;
  traits.implementation = "cuda:group_norm_gradient";
  traits.in_place_input = dx == 0 ? g : -1;
  traits.workspace_bytes = GroupNormBytes(p);
  return MakeDeviceKernel(std::move(traits), [=](const KernelArgs& args, void* stream) {
    GroupNormParams run = p;
    run.x = args.inputs[x];
    run.g = args.inputs[g];
    run.scale = At(p.scale, args, scale);
    run.saved_mean = At(p.saved_mean, args, saved ? mean : -1);
    run.saved_variance = At(p.saved_variance, args, saved ? variance : -1);
    run.dx = dx < 0 ? nullptr : args.outputs[dx];
    run.dscale = At(p.dscale, args, dscale);
    run.dbias = At(p.dbias, args, dbias);
    run.workspace = args.workspace;
    return LaunchGroupNormGradient(stream, run);
  });
}

}  // namespace

absl::Status RegisterGroupNorm(KernelRegistry* registry) {
  for (const char* op : {"group_norm", "instance_norm"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kFollows}));
  }
  return absl::OkStatus();
}

absl::Status RegisterGroupNormGradient(KernelRegistry* registry) {
  for (const char* op : {"group_norm_grad", "instance_norm_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kFollows}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
