// roi_align and its gradient, yolo_box, prior_box, box_coder.
#include "kernels/cuda/sampling/boxes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/move/copy.h"
#include "kernels/cuda/sampling/roi.h"
#include "kernels/spec/move/fill_spec.h"
#include "kernels/spec/sampling/box_spec.h"
#include "kernels/spec/sampling/roi_spec.h"

namespace ampc::cuda {
namespace {

KernelTraits Named(const char* name) {
  KernelTraits traits;
  traits.implementation = name;
  return traits;
}

std::unique_ptr<Kernel> MakeNothing(const char* name) {
  return MakeDeviceKernel(Named(name), [](const KernelArgs&, void*) { return 0; });
}

// Every float operand has the type of result 0.
absl::Status CheckOneType(const SpecView& view) {
  for (const TensorDesc& in : view.spec().inputs) {
    if (IsFloat(in.dtype) && in.dtype != view.spec().outputs[0].dtype) return view.Unsupported("the device's kernel needs one float type");
  }
  return absl::OkStatus();
}

// If RoisNum does not add up, boxes that no image has are NaN: nobody on the host sees the counts.
absl::StatusOr<std::unique_ptr<Kernel>> MakeRoiAlign(const KernelSpec& spec) {
  const SpecView view(spec);
  const RoiAlign r = ReadRoiAlign(view);
  const int num = view.In("RoisNum"), gradient = view.In("Out@GRAD");
  if (gradient >= 0 && r.max) return view.Unsupported("mode max has no gradient");
  if (num < 0 && r.images > 1) return view.Unsupported("without RoisNum the boxes of several images cannot be told apart");
  if (spec.outputs[0].NumElements() == 0) return MakeNothing("cuda:roi_align");
  if (r.images * r.in_h * r.in_w == 0) return view.Unsupported("there is no position to sample");
  const DType type = spec.outputs[0].dtype, rois_type = view.InDesc("ROIs").dtype,
              num_type = num < 0 ? DType::kI32 : spec.inputs[num].dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(num_type, {DType::kI32, DType::kI64}));
  return MakeDeviceKernel(Named("cuda:roi_align"), [=, x = view.In("X"), rois = view.In("ROIs")](const KernelArgs& args, void* stream) {
    const RoiInputs in{rois_type, args.inputs[rois], num < 0 ? nullptr : args.inputs[num], num_type};
    if (gradient >= 0) return LaunchRoiAlignGradient(stream, type, r, in, args.inputs[gradient], args.outputs[0]);
    return LaunchRoiAlign(stream, type, r, in, args.inputs[x], args.outputs[0]);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeYoloBox(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("X"), &sizes = view.InDesc("ImgSize");
  AMPC_RETURN_IF_ERROR(CheckOneType(view));
  AMPC_RETURN_IF_ERROR(view.CheckType(sizes.dtype, {DType::kI32, DType::kI64}));
  AMPC_ASSIGN_OR_RETURN(const YoloBox y, ReadYoloBox(view));
  const YoloInputs inputs{x.dtype, sizes.dtype, nullptr, nullptr, x.dims[1] * x.dims[2] * x.dims[3]};
  return MakeDeviceKernel(Named("cuda:yolo_box"), [y, inputs, x = view.In("X"), size = view.In("ImgSize"), boxes = view.Out("Boxes"),
                                                   scores = view.Out("Scores")](const KernelArgs& args, void* stream) {
    YoloInputs in = inputs;
    in.x = args.inputs[x];
    in.sizes = args.inputs[size];
    return LaunchYoloBox(stream, y, in, args.outputs[boxes], args.outputs[scores]);
  });
}

std::vector<char> DeclaredFloats(const std::vector<float>& values, DType dtype) {
  const char* const bytes = reinterpret_cast<const char*>(values.data());
  return Declared(std::vector<char>(bytes, bytes + values.size() * sizeof(float)), dtype);
}

// The boxes travel with the launches.
absl::StatusOr<std::unique_ptr<Kernel>> MakePriorBox(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckOneType(view));
  AMPC_ASSIGN_OR_RETURN(const PriorBoxes prior, ReadPriorBoxes(view));
  const int b = view.Out("Boxes"), v = view.Out("Variances");
  return MakeDeviceKernel(
      Named("cuda:prior_box"), [b, v, boxes = DeclaredFloats(prior.boxes, spec.outputs[b].dtype),
                                variances = DeclaredFloats(prior.variances, spec.outputs[v].dtype)](const KernelArgs& args, void* stream) {
        const int code = LaunchLiteral(stream, args.outputs[b], boxes.data(), static_cast<int64_t>(boxes.size()));
        return code != 0 ? code : LaunchLiteral(stream, args.outputs[v], variances.data(), static_cast<int64_t>(variances.size()));
      });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBoxCoder(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckOneType(view));
  AMPC_ASSIGN_OR_RETURN(const BoxCoderSpec s, ReadBoxCoder(view));
  BoxCoder coder{spec.outputs[0].dtype, s.encode, s.rows, s.n, s.m, s.more, {}};
  std::copy(s.variance.begin(), s.variance.end(), coder.variance);
  return MakeDeviceKernel(Named("cuda:box_coder"), [coder, p = view.In("PriorBox"), t = view.In("TargetBox"), v = view.In("PriorBoxVar")](
                                                       const KernelArgs& args, void* stream) {
    return LaunchBoxCoder(stream, coder, args.inputs[p], v < 0 ? nullptr : args.inputs[v], args.inputs[t], args.outputs[0]);
  });
}

}  // namespace

absl::Status RegisterBoxes(KernelRegistry* registry) {
  const std::pair<const char*, MakeKernelFn> kernels[] = {
      {"box_coder", &MakeBoxCoder},      {"prior_box", &MakePriorBox}, {"roi_align", &MakeRoiAlign},
      {"roi_align_grad", &MakeRoiAlign}, {"yolo_box", &MakeYoloBox},
  };
  for (const auto& [op, make] : kernels) AMPC_RETURN_IF_ERROR(registry->Add({op, make, {DType::kF32, DType::kF16, DType::kBF16}}));
  return absl::OkStatus();
}

}  // namespace ampc::cuda
