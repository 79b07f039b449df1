// yolo_box, prior_box and box_coder: boxes made and decoded, one by one.
#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/ops/prior_ratios.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 10;

float Sigmoid(float x) { return static_cast<float>(1.0 / (1.0 + std::exp(-x))); }

struct Yolo {
  std::vector<int64_t> anchors;
  int64_t images = 0, boxes = 0, classes = 1, height = 0, width = 0, stride = 32;
  float threshold = 0, scale = 1, iou_power = 0;
  bool clip = true, iou_aware = false;
  DType size_type = DType::kI32;

  // The cell of box `b` of an image whose maps start at `x`, in an image of height x width pixels.
  void Decode(const float* x, int64_t b, float image_height, float image_width, float* box, float* scores) const {
    const int64_t cells = height * width, anchor = b / cells, cell = b % cells, count = static_cast<int64_t>(anchors.size()) / 2;
    const float* maps = x + ((iou_aware ? count : 0) + anchor * (classes + 5)) * cells + cell;
    float confidence = Sigmoid(maps[4 * cells]);
    if (iou_aware) {
      const float iou = Sigmoid(x[anchor * cells + cell]);
      confidence = std::pow(confidence, static_cast<float>(1. - iou_power)) * std::pow(iou, iou_power);
    }
    if (confidence < threshold) {
      std::fill(box, box + 4, 0.0f);
      std::fill(scores, scores + classes, 0.0f);
      return;
    }
    const float shift = -0.5f * (scale - 1.0f);
    const float cx = (static_cast<float>(cell % width) + Sigmoid(maps[0]) * scale + shift) * image_width / static_cast<float>(width);
    const float cy = (static_cast<float>(cell / width) + Sigmoid(maps[cells]) * scale + shift) * image_height / static_cast<float>(height);
    const float w = std::exp(maps[2 * cells]) * static_cast<float>(anchors[2 * anchor]) * image_width / static_cast<float>(stride * width);
    const float h =
        std::exp(maps[3 * cells]) * static_cast<float>(anchors[2 * anchor + 1]) * image_height / static_cast<float>(stride * height);
    box[0] = cx - w / 2;
    box[1] = cy - h / 2;
    box[2] = cx + w / 2;
    box[3] = cy + h / 2;
    if (clip) {
      box[0] = box[0] > 0 ? box[0] : 0;
      box[1] = box[1] > 0 ? box[1] : 0;
      box[2] = box[2] < image_width - 1 ? box[2] : image_width - 1;
      box[3] = box[3] < image_height - 1 ? box[3] : image_height - 1;
    }
    for (int64_t c = 0; c < classes; ++c) scores[c] = confidence * Sigmoid(maps[(5 + c) * cells]);
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeYoloBox(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("X"), &sizes = view.InDesc("ImgSize");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32}));
  AMPC_RETURN_IF_ERROR(view.CheckType(sizes.dtype, {DType::kI32, DType::kI64}));
  Yolo y;
  y.anchors = view.op().GetInts("anchors");
  y.images = x.dims[0];
  y.height = x.dims[2];
  y.width = x.dims[3];
  y.boxes = static_cast<int64_t>(y.anchors.size()) / 2 * y.height * y.width;
  y.classes = view.op().GetInt("class_num");
  y.stride = view.op().GetInt("downsample_ratio");
  y.threshold = static_cast<float>(view.op().GetFloat("conf_thresh"));
  y.scale = static_cast<float>(view.op().GetFloat("scale_x_y"));
  y.iou_power = static_cast<float>(view.op().GetFloat("iou_aware_factor"));
  y.clip = view.op().GetBool("clip_bbox");
  y.iou_aware = view.op().GetBool("iou_aware");
  y.size_type = sizes.dtype;
  if (view.OutDesc("Boxes").NumElements() != y.images * y.boxes * 4) return view.Internal("Boxes does not fit the anchors");
  return MakeLambdaKernel({}, [y = std::move(y), x = view.In("X"), size = view.In("ImgSize"), boxes = view.Out("Boxes"),
                               scores = view.Out("Scores"), image_elements = x.dims[1] * x.dims[2] * x.dims[3]](const KernelArgs& args) {
    ParallelFor(args.threads, y.images * y.boxes, kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t image = i / y.boxes;
        y.Decode(static_cast<const float*>(args.inputs[x]) + image * image_elements, i % y.boxes,
                 static_cast<float>(ReadAsInt(args.inputs[size], y.size_type, 2 * image)),
                 static_cast<float>(ReadAsInt(args.inputs[size], y.size_type, 2 * image + 1)),
                 static_cast<float*>(args.outputs[boxes]) + i * 4, static_cast<float*>(args.outputs[scores]) + i * y.classes);
      }
    });
    return absl::OkStatus();
  });
}

// Half widths and heights of the boxes around one cell, in pixels.
std::vector<std::pair<float, float>> PriorSizes(const Op& op) {
  const std::vector<double> min_sizes = op.GetFloats("min_sizes"), max_sizes = op.GetFloats("max_sizes");
  const bool max_second = op.GetBool("min_max_aspect_ratios_order");
  std::vector<std::pair<float, float>> sizes;
  for (size_t s = 0; s < min_sizes.size(); ++s) {
    const float min = static_cast<float>(min_sizes[s]);
    const auto add_max = [&] {
      if (max_sizes.empty()) return;
      const float half = static_cast<float>(std::sqrt(min * static_cast<float>(max_sizes[s])) / 2.);
      sizes.emplace_back(half, half);
    };
    if (max_second) {
      sizes.emplace_back(static_cast<float>(min / 2.), static_cast<float>(min / 2.));
      add_max();
    }
    for (float ratio : ops::PriorRatios(op)) {
      if (max_second && std::abs(ratio - 1.f) < 1e-6f) continue;
      sizes.emplace_back(static_cast<float>(min * std::sqrt(ratio) / 2.), static_cast<float>(min / std::sqrt(ratio) / 2.));
    }
    if (!max_second) add_max();
  }
  return sizes;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePriorBox(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("Input"), &image = view.InDesc("Image");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32}));
  const float image_h = static_cast<float>(image.dims[2]), image_w = static_cast<float>(image.dims[3]);
  float step_w = static_cast<float>(view.op().GetFloat("step_w")), step_h = static_cast<float>(view.op().GetFloat("step_h"));
  if (step_w == 0 || step_h == 0) {
    step_w = image_w / static_cast<float>(x.dims[3]);
    step_h = image_h / static_cast<float>(x.dims[2]);
  }
  const float offset = static_cast<float>(view.op().GetFloat("offset"));
  const std::vector<double> variance = view.op().GetFloats("variances");
  const std::vector<std::pair<float, float>> sizes = PriorSizes(view.op());
  std::vector<float> boxes, variances;  // depend on shapes and attributes only
  for (int64_t h = 0; h < x.dims[2]; ++h) {
    for (int64_t w = 0; w < x.dims[3]; ++w) {
      const float cx = (static_cast<float>(w) + offset) * step_w, cy = (static_cast<float>(h) + offset) * step_h;
      for (const auto& [half_w, half_h] : sizes) {
        for (float v : {(cx - half_w) / image_w, (cy - half_h) / image_h, (cx + half_w) / image_w, (cy + half_h) / image_h}) {
          boxes.push_back(view.op().GetBool("clip") ? std::min(std::max(v, 0.f), 1.f) : v);
        }
        for (double v : variance) variances.push_back(static_cast<float>(v));
      }
    }
  }
  if (view.OutDesc("Boxes").NumElements() != static_cast<int64_t>(boxes.size())) return view.Internal("Boxes does not fit the sizes");
  return MakeLambdaKernel({}, [boxes = std::move(boxes), variances = std::move(variances), b = view.Out("Boxes"),
                               v = view.Out("Variances")](const KernelArgs& args) {
    std::copy(boxes.begin(), boxes.end(), static_cast<float*>(args.outputs[b]));
    std::copy(variances.begin(), variances.end(), static_cast<float*>(args.outputs[v]));
    return absl::OkStatus();
  });
}

struct Center {
  float x, y, w, h;
  Center(const float* box, float more) : x(0), y(0), w(box[2] - box[0] + more), h(box[3] - box[1] + more) {
    x = box[0] + w / 2;
    y = box[1] + h / 2;
  }
};

void EncodeBox(const float* target, const Center& prior, const float* variance, float more, float* out) {
  const float w = target[2] - target[0] + more, h = target[3] - target[1] + more;
  out[0] = ((target[2] + target[0]) / 2 - prior.x) / prior.w;
  out[1] = ((target[3] + target[1]) / 2 - prior.y) / prior.h;
  out[2] = std::log(std::abs(w / prior.w));
  out[3] = std::log(std::abs(h / prior.h));
  for (int i = 0; i < 4; ++i) out[i] /= variance[i];
}

void DecodeBox(const float* target, const Center& prior, const float* variance, float more, float* out) {
  const float x = variance[0] * target[0] * prior.w + prior.x, y = variance[1] * target[1] * prior.h + prior.y;
  const float w = std::exp(variance[2] * target[2]) * prior.w, h = std::exp(variance[3] * target[3]) * prior.h;
  out[0] = x - w / 2;
  out[1] = y - h / 2;
  out[2] = x + w / 2 - more;
  out[3] = y + h / 2 - more;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBoxCoder(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("PriorBox").dtype, {DType::kF32}));
  const bool encode = view.op().GetString("code_type") == "encode_center_size";
  const Dims& out = spec.outputs[0].dims;
  // Priors lie along dim 1 of the result, or for decoding along dim 0 where axis is 1.
  const bool rows = !encode && view.op().GetInt("axis") == 1;
  if (view.InDesc("PriorBox").dims[0] != out[rows ? 0 : 1]) return view.Internal("the priors do not fit the result");
  std::vector<float> variance = {1, 1, 1, 1};
  if (const std::vector<double> given = view.op().GetFloats("variance"); given.size() == 4) variance.assign(given.begin(), given.end());
  return MakeLambdaKernel({}, [=, n = out[0], m = out[1], more = view.op().GetBool("box_normalized") ? 0.f : 1.f, p = view.In("PriorBox"),
                               t = view.In("TargetBox"), v = view.In("PriorBoxVar")](const KernelArgs& args) {
    const float *priors = static_cast<const float*>(args.inputs[p]), *targets = static_cast<const float*>(args.inputs[t]);
    const float* variances = v < 0 ? nullptr : static_cast<const float*>(args.inputs[v]);
    ParallelFor(args.threads, n * m, kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t prior = rows ? i / m : i % m;
        const float* by = variances == nullptr ? variance.data() : variances + prior * 4;
        float* to = static_cast<float*>(args.outputs[0]) + i * 4;
        (encode ? EncodeBox : DecodeBox)(targets + (encode ? i / m : i) * 4, Center(priors + prior * 4, more), by, more, to);
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
