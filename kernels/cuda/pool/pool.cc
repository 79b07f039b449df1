// pool2d and pool3d with their gradients on a device.
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/base/volume.h"
#include "kernels/cuda/pool/pool_code.h"

namespace ampc::cuda {
namespace {

bool IsNhwc(const SpecView& view) { return ops::ChannelsLast(view.op().GetString("data_format")); }

absl::Span<const int64_t> Spatial(const SpecView& view, const TensorDesc& t) {
  return absl::MakeConstSpan(t.dims).subspan(IsNhwc(view) ? 1 : 2, t.dims.size() - 2);
}

// Tensors of an NHWC op lie as channels-last ones of an NCHW op do.
Volume VolumeOf(const SpecView& view, const TensorDesc& t) {
  Volume v;
  const auto sizes = Spatial(view, t);
  v.type = t.dtype;
  v.n = t.dims[0];
  v.c = IsNhwc(view) ? t.dims.back() : t.dims[1];
  v.channels_last = IsNhwc(view) || t.layout == Layout::kChannelsLast;
  for (size_t i = 0; i < sizes.size(); ++i) v.size[3 - sizes.size() + i] = sizes[i];
  SetStrides(&v);
  return v;
}

// `out` has the sizes of the result.
absl::StatusOr<Pool> ReadPool(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  const Op& op = view.op();
  Pool p;
  p.max = op.GetString("pooling_type") == "max";
  p.exclusive = op.GetBool("exclusive", true);
  p.x = VolumeOf(view, x);
  p.out = VolumeOf(view, out);
  if (op.GetBool("global_pooling") || op.GetBool("adaptive")) return p;
  const auto in = Spatial(view, x);
  const absl::StatusOr<ops::Windows> windows = ops::ReadWindows(op, in, op.GetInts("ksize"));
  if (!windows.ok()) return view.Internal(windows.status().message());
  for (size_t i = 0; i < in.size(); ++i) {
    const ops::Window& w = (*windows)[i];
    p.axis[3 - in.size() + i] = {false, w.kernel, w.stride, w.before, w.after};
  }
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(const Pool pool, ReadPool(view, spec.inputs[0], spec.outputs[0]));
  KernelTraits traits;
  traits.implementation = "cuda:pool";
  return MakeDeviceKernel(traits, [pool](const KernelArgs& args, void* stream) {
    Pool p = pool;
    p.x.data = const_cast<void*>(args.inputs[0]);  // only read
    p.out.data = args.outputs[0];
    return LaunchPool(stream, p);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const int x = view.In("X"), out = view.In("Out"), gradient = view.In("Out@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[x].dtype, {DType::kF32}));
  if (spec.inputs[gradient].dtype != spec.inputs[x].dtype) return view.Unsupported("Out@GRAD needs the type of X");
  AMPC_ASSIGN_OR_RETURN(const Pool pool, ReadPool(view, spec.inputs[x], spec.inputs[out >= 0 ? out : gradient]));
  if (pool.max && out < 0) return view.Unsupported("the largest values of the windows are needed");
  const Volume from = VolumeOf(view, spec.inputs[gradient]), to = VolumeOf(view, spec.outputs[0]);
  KernelTraits traits;
  traits.implementation = "cuda:pool";
  return MakeDeviceKernel(traits, [=](const KernelArgs& args, void* stream) {
    const auto in = [&args](int i) { return i < 0 ? nullptr : const_cast<void*>(args.inputs[i]); };  // operands are only read
    Pool p = pool;
    Volume g = from, result = to;
    p.x.data = in(x), p.out.data = in(out), g.data = in(gradient), result.data = args.outputs[0];
    return LaunchPoolGradient(stream, p, g, result);
  });
}

}  // namespace

absl::Status RegisterPool(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  AMPC_RETURN_IF_ERROR(registry->Add({"pool2d", &Make, types, LayoutSupport::kAware}));
  AMPC_RETURN_IF_ERROR(registry->Add({"pool3d", &Make, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"pool2d_grad", &MakeGradient, types, LayoutSupport::kAware}));
  return registry->Add({"pool3d_grad", &MakeGradient, types});
}

}  // namespace ampc::cuda
