// pad, pad2d, pad3d and their gradients.
#include "kernels/cuda/move/pad.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/spec/move/fill_spec.h"
#include "kernels/spec/move/pad_spec.h"

namespace ampc::cuda {
namespace {

KernelTraits Named(const char* name) {
  KernelTraits traits;
  traits.implementation = name;
  return traits;
}

std::unique_ptr<Kernel> MakeNothing() {
  return MakeDeviceKernel(Named("cuda:pad"), [](const KernelArgs&, void*) { return 0; });
}

// A dimension of X, or several without padding.
struct Joined {
  int64_t in, before, out;
};

// Outermost first.
std::vector<Joined> Join(const PadSpec& pad, const Dims& in, const Dims& out) {
  std::vector<Joined> axes;
  bool open = false;
  for (size_t d = 0; d < in.size(); ++d) {
    const bool padded = pad.before[d] != 0 || in[d] != out[d];
    if (!padded && open) {
      axes.back().in *= in[d];
      axes.back().out *= out[d];
    } else {
      axes.push_back({in[d], pad.before[d], out[d]});
    }
    open = !padded;
  }
  return axes;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("X"), &out = view.OutDesc("Out");
  if (x.dims.empty() || out.dims.size() != x.dims.size()) return view.Internal("needs the result in the rank of X");
  AMPC_ASSIGN_OR_RETURN(const PadSpec pad, ReadPadding(view, x.dims, out.dims));
  if (out.NumElements() == 0) return MakeNothing();
  std::vector<Joined> axes = Join(pad, x.dims, out.dims);
  PadParams p;
  p.mode = pad.mode;
  p.run = static_cast<int64_t>(SizeOf(x.dtype));
  const Joined& last = axes.back();
  if (last.before == 0 && last.in == last.out) {
    p.run *= last.in;
    axes.pop_back();
  }
  if (axes.size() > kMaxAxes) return view.Unsupported("the device pads at most 8 dimensions");
  FillValue value;
  value.number = pad.value;
  const std::vector<char> element = DeclaredElement(value, x.dtype);
  for (size_t i = 0; i < sizeof(p.element.bytes); ++i) p.element.bytes[i] = static_cast<unsigned char>(element[i % element.size()]);
  p.rank = static_cast<int>(axes.size());
  int64_t step = 1;
  for (int d = p.rank - 1; d >= 0; --d) {
    p.axes[d] = {axes[d].in, axes[d].before, step, Divider(axes[d].out)};
    step *= axes[d].in;
  }
  return MakeDeviceKernel(Named("cuda:pad"), [p, from = view.In("X"), to = view.Out("Out")](const KernelArgs& args, void* stream) {
    return LaunchPad(stream, p, args.inputs[from], args.outputs[to]);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &gradient = view.InDesc("Out@GRAD"), &x = view.OutDesc("X@GRAD");
  if (x.NumElements() == 0) return MakeNothing();
  AMPC_ASSIGN_OR_RETURN(const PadSpec pad, ReadPadding(view, x.dims, gradient.dims));
  const std::vector<Joined> axes = Join(pad, x.dims, gradient.dims);
  if (axes.size() > kMaxAxes) return view.Unsupported("the device pads at most 8 dimensions");
  PadGradientParams p;
  p.mode = pad.mode;
  p.type = x.dtype;
  p.rank = static_cast<int>(axes.size());
  int64_t step = 1;
  for (int d = p.rank - 1; d >= 0; --d) {
    p.axes[d] = {Divider(axes[d].in), axes[d].before, axes[d].out, step};
    step *= axes[d].out;
  }
  return MakeDeviceKernel(Named("cuda:pad"),
                          [p, from = view.In("Out@GRAD"), to = view.Out("X@GRAD")](const KernelArgs& args, void* stream) {
                            return LaunchPadGradient(stream, p, args.inputs[from], args.outputs[to]);
                          });
}

}  // namespace

absl::Status RegisterPad(KernelRegistry* registry) {
  for (const char* op : {"pad", "pad2d", "pad3d"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}}));
  }
  for (const char* op : {"pad_grad", "pad2d_grad", "pad3d_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
