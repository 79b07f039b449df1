// yolo_box, prior_box and box_coder: boxes made and decoded, one by one.
#include <algorithm>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"
#include "kernels/spec/sampling/box_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 10;

absl::StatusOr<std::unique_ptr<Kernel>> MakeYoloBox(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("X"), &sizes = view.InDesc("ImgSize");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32}));
  AMPC_RETURN_IF_ERROR(view.CheckType(sizes.dtype, {DType::kI32, DType::kI64}));
  AMPC_ASSIGN_OR_RETURN(const YoloBox y, ReadYoloBox(view));
  return MakeLambdaKernel({}, [y, x = view.In("X"), size = view.In("ImgSize"), size_type = sizes.dtype, boxes = view.Out("Boxes"),
                               scores = view.Out("Scores"), image_elements = x.dims[1] * x.dims[2] * x.dims[3]](const KernelArgs& args) {
    ParallelFor(args.threads, y.images * y.boxes, kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t image = i / y.boxes;
        const float* const maps = static_cast<const float*>(args.inputs[x]) + image * image_elements;
        float* const box = static_cast<float*>(args.outputs[boxes]) + i * 4;
        float* const score = static_cast<float*>(args.outputs[scores]) + i * y.classes;
        DecodeYoloBox(
            y, [maps](int64_t k) { return maps[k]; }, i % y.boxes, static_cast<float>(ReadAsInt(args.inputs[size], size_type, 2 * image)),
            static_cast<float>(ReadAsInt(args.inputs[size], size_type, 2 * image + 1)), [box](int64_t k, float v) { box[k] = v; },
            [score](int64_t c, float v) { score[c] = v; });
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePriorBox(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("Input").dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(PriorBoxes prior, ReadPriorBoxes(view));
  return MakeLambdaKernel({}, [boxes = std::move(prior.boxes), variances = std::move(prior.variances), b = view.Out("Boxes"),
                               v = view.Out("Variances")](const KernelArgs& args) {
    std::copy(boxes.begin(), boxes.end(), static_cast<float*>(args.outputs[b]));
    std::copy(variances.begin(), variances.end(), static_cast<float*>(args.outputs[v]));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBoxCoder(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("PriorBox").dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(const BoxCoderSpec s, ReadBoxCoder(view));
  return MakeLambdaKernel({}, [s, p = view.In("PriorBox"), t = view.In("TargetBox"), v = view.In("PriorBoxVar")](const KernelArgs& args) {
    const float *priors = static_cast<const float*>(args.inputs[p]), *targets = static_cast<const float*>(args.inputs[t]);
    const float* variances = v < 0 ? nullptr : static_cast<const float*>(args.inputs[v]);
    ParallelFor(args.threads, s.n * s.m, kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t prior = s.rows ? i / s.m : i % s.m;
        const float* by = variances == nullptr ? s.variance.data() : variances + prior * 4;
        float* to = static_cast<float*>(args.outputs[0]) + i * 4;
        (s.encode ? EncodeBox : DecodeBox)(targets + (s.encode ? i / s.m : i) * 4, CenterOf(priors + prior * 4, s.more), by, s.more, to);
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterBoxes(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  AMPC_RETURN_IF_ERROR(registry->Add({"yolo_box", &MakeYoloBox, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"prior_box", &MakePriorBox, types}));
  return registry->Add({"box_coder", &MakeBoxCoder, types});
}

}  // namespace ampc
