// Boxes made and decoded: the arithmetic of yolo_box, prior_box and box_coder for host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc {

AMPC_HOST_DEVICE inline float BoxSigmoid(float x) { return static_cast<float>(1.0 / (1.0 + std::exp(-x))); }

inline constexpr int kMaxAnchors = 32;

struct YoloBox {
  int64_t anchors[2 * kMaxAnchors] = {};
  int64_t anchor_count = 0, images = 0, boxes = 0, classes = 1, height = 0, width = 0, stride = 32;
  float threshold = 0, scale = 1, iou_power = 0;
  bool clip = true, iou_aware = false;
};

// The cell of box `b` of an image of height x width pixels; at(i): element i of its maps; put_box(k, v), put_score(c, v).
template <typename Maps, typename PutBox, typename PutScore>
AMPC_HOST_DEVICE inline void DecodeYoloBox(const YoloBox& y, const Maps& at, int64_t b, float image_height, float image_width,
                                           const PutBox& put_box, const PutScore& put_score) {
  const int64_t cells = y.height * y.width, anchor = b / cells, cell = b % cells;
  const int64_t maps = ((y.iou_aware ? y.anchor_count : 0) + anchor * (y.classes + 5)) * cells + cell;
  float confidence = BoxSigmoid(at(maps + 4 * cells));
  if (y.iou_aware) {
    const float iou = BoxSigmoid(at(anchor * cells + cell));
    confidence = std::pow(confidence, static_cast<float>(1. - y.iou_power)) * std::pow(iou, y.iou_power);
  }
  if (confidence < y.threshold) {
    for (int k = 0; k < 4; ++k) put_box(k, 0.0f);
    for (int64_t c = 0; c < y.classes; ++c) put_score(c, 0.0f);
    return;
  }
  const float shift = -0.5f * (y.scale - 1.0f), width = static_cast<float>(y.width), height = static_cast<float>(y.height);
  const float cx = (static_cast<float>(cell % y.width) + BoxSigmoid(at(maps)) * y.scale + shift) * image_width / width;
  const float cy = (static_cast<float>(cell / y.width) + BoxSigmoid(at(maps + cells)) * y.scale + shift) * image_height / height;
  const float w =
      std::exp(at(maps + 2 * cells)) * static_cast<float>(y.anchors[2 * anchor]) * image_width / static_cast<float>(y.stride * y.width);
  const float h = std::exp(at(maps + 3 * cells)) * static_cast<float>(y.anchors[2 * anchor + 1]) * image_height /
                  static_cast<float>(y.stride * y.height);
  float box[4] = {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
  if (y.clip) {
    box[0] = box[0] > 0 ? box[0] : 0;
    box[1] = box[1] > 0 ? box[1] : 0;
    box[2] = box[2] < image_width - 1 ? box[2] : image_width - 1;
    box[3] = box[3] < image_height - 1 ? box[3] : image_height - 1;
  }
  for (int k = 0; k < 4; ++k) put_box(k, box[k]);
  for (int64_t c = 0; c < y.classes; ++c) put_score(c, confidence * BoxSigmoid(at(maps + (5 + c) * cells)));
}

struct BoxCenter {
  float x, y, w, h;
};
AMPC_HOST_DEVICE inline BoxCenter CenterOf(const float* box, float more) {
  const float w = box[2] - box[0] + more, h = box[3] - box[1] + more;
  return {box[0] + w / 2, box[1] + h / 2, w, h};
}

AMPC_HOST_DEVICE inline void EncodeBox(const float* target, const BoxCenter& prior, const float* variance, float more, float* out) {
  const float w = target[2] - target[0] + more, h = target[3] - target[1] + more;
  out[0] = ((target[2] + target[0]) / 2 - prior.x) / prior.w;
  out[1] = ((target[3] + target[1]) / 2 - prior.y) / prior.h;
  out[2] = std::log(std::abs(w / prior.w));
  out[3] = std::log(std::abs(h / prior.h));
  for (int i = 0; i < 4; ++i) out[i] /= variance[i];
}

AMPC_HOST_DEVICE inline void DecodeBox(const float* target, const BoxCenter& prior, const float* variance, float more, float* out) {
  const float x = variance[0] * target[0] * prior.w + prior.x, y = variance[1] * target[1] * prior.h + prior.y;
  const float w = std::exp(variance[2] * target[2]) * prior.w, h = std::exp(variance[3] * target[3]) * prior.h;
  out[0] = x - w / 2;
  out[1] = y - h / 2;
  out[2] = x + w / 2 - more;
  out[3] = y + h / 2 - more;
}

}  // namespace ampc
