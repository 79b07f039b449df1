#include "kernels/spec/sampling/box_spec.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ops/prior_ratios.h"

namespace ampc {
namespace {

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

}  // namespace

absl::StatusOr<YoloBox> ReadYoloBox(const SpecView& view) {
  const TensorDesc& x = view.InDesc("X");
  const std::vector<int64_t> anchors = view.op().GetInts("anchors");
  YoloBox y;
  y.anchor_count = static_cast<int64_t>(anchors.size()) / 2;
  if (anchors.size() > 2 * kMaxAnchors)
    return view.Unsupported(absl::StrCat("has ", y.anchor_count, " anchors, at most ", kMaxAnchors, " are supported"));
  std::copy(anchors.begin(), anchors.end(), y.anchors);
  y.images = x.dims[0];
  y.height = x.dims[2];
  y.width = x.dims[3];
  y.boxes = y.anchor_count * y.height * y.width;
  y.classes = view.op().GetInt("class_num");
  y.stride = view.op().GetInt("downsample_ratio");
  y.threshold = static_cast<float>(view.op().GetFloat("conf_thresh"));
  y.scale = static_cast<float>(view.op().GetFloat("scale_x_y"));
  y.iou_power = static_cast<float>(view.op().GetFloat("iou_aware_factor"));
  y.clip = view.op().GetBool("clip_bbox");
  y.iou_aware = view.op().GetBool("iou_aware");
  if (view.OutDesc("Boxes").NumElements() != y.images * y.boxes * 4) return view.Internal("Boxes does not fit the anchors");
  return y;
}

absl::StatusOr<PriorBoxes> ReadPriorBoxes(const SpecView& view) {
  const TensorDesc &x = view.InDesc("Input"), &image = view.InDesc("Image");
  const float image_h = static_cast<float>(image.dims[2]), image_w = static_cast<float>(image.dims[3]);
  float step_w = static_cast<float>(view.op().GetFloat("step_w")), step_h = static_cast<float>(view.op().GetFloat("step_h"));
  if (step_w == 0 || step_h == 0) {
    step_w = image_w / static_cast<float>(x.dims[3]);
    step_h = image_h / static_cast<float>(x.dims[2]);
  }
  const float offset = static_cast<float>(view.op().GetFloat("offset"));
  const bool clip = view.op().GetBool("clip");
  const std::vector<double> variance = view.op().GetFloats("variances");
  const std::vector<std::pair<float, float>> sizes = PriorSizes(view.op());
  PriorBoxes out;
  for (int64_t h = 0; h < x.dims[2]; ++h) {
    for (int64_t w = 0; w < x.dims[3]; ++w) {
      const float cx = (static_cast<float>(w) + offset) * step_w, cy = (static_cast<float>(h) + offset) * step_h;
      for (const auto& [half_w, half_h] : sizes) {
        for (float v : {(cx - half_w) / image_w, (cy - half_h) / image_h, (cx + half_w) / image_w, (cy + half_h) / image_h}) {
          out.boxes.push_back(clip ? std::min(std::max(v, 0.f), 1.f) : v);
        }
        for (double v : variance) out.variances.push_back(static_cast<float>(v));
      }
    }
  }
  if (view.OutDesc("Boxes").NumElements() != static_cast<int64_t>(out.boxes.size())) return view.Internal("Boxes does not fit the sizes");
  return out;
}

absl::StatusOr<BoxCoderSpec> ReadBoxCoder(const SpecView& view) {
  const Dims& out = view.spec().outputs[0].dims;
  BoxCoderSpec s;
  s.encode = view.op().GetString("code_type") == "encode_center_size";
  s.rows = !s.encode && view.op().GetInt("axis") == 1;
  s.n = out[0];
  s.m = out[1];
  if (view.InDesc("PriorBox").dims[0] != out[s.rows ? 0 : 1]) return view.Internal("the priors do not fit the result");
  if (const std::vector<double> given = view.op().GetFloats("variance"); given.size() == 4) {
    for (int i = 0; i < 4; ++i) s.variance[i] = static_cast<float>(given[i]);
  }
  s.more = view.op().GetBool("box_normalized") ? 0.f : 1.f;
  return s;
}

}  // namespace ampc
