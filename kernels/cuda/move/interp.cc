// {linear,bilinear,trilinear,bicubic,nearest}_interp_v2 and their gradients.
#include "kernels/cuda/move/interp.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/move/copy.h"
#include "kernels/spec/move/interp_spec.h"

namespace ampc::cuda {
namespace {

KernelTraits Named(const char* name) {
  KernelTraits traits;
  traits.implementation = name;
  return traits;
}

// Same dims: a copy, whatever the scale.
std::unique_ptr<Kernel> MakeSame(const KernelSpec& spec, int in, int out) {
  KernelTraits traits = Named("cuda:copy");
  traits.alias_input = in;
  const int64_t bytes = spec.inputs[in].NumElements() * static_cast<int64_t>(SizeOf(spec.inputs[in].dtype));
  return MakeDeviceKernel(std::move(traits), [in, out, bytes](const KernelArgs& args, void* stream) {
    const RowsPart all{static_cast<const char*>(args.inputs[in]), static_cast<char*>(args.outputs[out]), 1, bytes, 0, 0};
    return LaunchRows(stream, &all, 1);
  });
}

absl::Status CheckRanks(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  if (x.dims.size() < 3 || x.dims.size() > 5 || out.dims.size() != x.dims.size()) return view.Internal("needs 3 to 5 dimensions");
  if (out.layout != x.layout) return view.Unsupported("the device's kernel needs the result in the layout of the operand");
  return absl::OkStatus();
}

absl::StatusOr<InterpParams> Params(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  AMPC_ASSIGN_OR_RETURN(const InterpSpec s, ReadInterp(view, x, out));
  InterpParams p{x.dtype, s.planes, s.channels, {}};
  std::copy(s.axes.begin(), s.axes.end(), p.axes);
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const int in = view.In("X"), to = view.Out("Out");
  const TensorDesc &x = spec.inputs[in], &out = spec.outputs[to];
  AMPC_RETURN_IF_ERROR(CheckRanks(view, x, out));
  if (out.dims == x.dims) return MakeSame(spec, in, to);
  if (out.NumElements() == 0) return MakeDeviceKernel(Named("cuda:interp"), [](const KernelArgs&, void*) { return 0; });
  AMPC_ASSIGN_OR_RETURN(const InterpParams p, Params(view, x, out));
  return MakeDeviceKernel(Named("cuda:interp"),
                          [=](const KernelArgs& args, void* stream) { return LaunchInterp(stream, p, args.inputs[in], args.outputs[to]); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const int in = view.In("Out@GRAD"), to = view.Out("X@GRAD");
  const TensorDesc &gradient = spec.inputs[in], &x = spec.outputs[to];
  AMPC_RETURN_IF_ERROR(CheckRanks(view, x, gradient));
  if (gradient.dims == x.dims) return MakeSame(spec, in, to);
  if (x.NumElements() == 0) return MakeDeviceKernel(Named("cuda:interp"), [](const KernelArgs&, void*) { return 0; });
  AMPC_ASSIGN_OR_RETURN(const InterpParams p, Params(view, x, gradient));
  return MakeDeviceKernel(Named("cuda:interp"), [=](const KernelArgs& args, void* stream) {
    return LaunchInterpGradient(stream, p, args.inputs[in], args.outputs[to]);
  });
}

}  // namespace

absl::Status RegisterInterp(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  for (const char* op : {"bicubic_interp_v2", "bilinear_interp_v2", "linear_interp_v2", "nearest_interp_v2", "trilinear_interp_v2"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, types, LayoutSupport::kFollows}));
    AMPC_RETURN_IF_ERROR(registry->Add({absl::StrCat(op, "_grad"), &MakeGradient, types}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
