// The bins of a box and the samples in them: the arithmetic of roi_align for host and device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/common/host_device.h"

namespace ampc {

struct RoiAlign {
  int64_t images = 0, channels = 0, in_h = 0, in_w = 0, boxes = 0, out_h = 0, out_w = 0;
  float scale = 1;
  int64_t sampling = -1;
  bool aligned = false;
  bool max = false;  // a bin is the largest share that a position has in a sample, instead of the samples' mean
};

// Samples along one axis of a bin: `count` of them, the first `step` / 2 after `begin`.
struct RoiSamples {
  float begin, step;
  int64_t first = 0, last = 0;  // those that touch X
  double count = 1;
};

AMPC_HOST_DEVICE inline RoiSamples MakeRoiSamples(float begin, float size, int64_t in, int64_t sampling, int64_t bins, float roi) {
  RoiSamples s;
  s.count = sampling > 0 ? static_cast<double>(sampling) : std::max(0.0, std::ceil(static_cast<double>(roi) / static_cast<double>(bins)));
  s.begin = begin;
  s.step = s.count > 0 ? size / static_cast<float>(s.count) : 0;
  if (s.count <= 0) return s;
  // A box may be far larger than X, or far away: only samples from -1 to `in` are visited, with one more at each end for rounding.
  double low = 0, high = s.count;
  if (s.step > 0) {
    low = std::clamp(std::floor((-1.0 - begin) / s.step) - 2, 0.0, s.count);
    high = std::clamp(std::ceil((static_cast<double>(in) - begin) / s.step) + 2, 0.0, s.count);
  } else {
    high = std::min(high, 1e6);
  }
  s.first = static_cast<int64_t>(low);
  s.last = static_cast<int64_t>(high);
  return s;
}

// The two positions and the weight of the second for a sample; false where it touches nothing.
AMPC_HOST_DEVICE inline bool PlaceRoiSample(const RoiSamples& s, int64_t i, int64_t in, int64_t* low, int64_t* high, float* weight) {
  float at = s.begin + (static_cast<float>(i) + 0.5f) * s.step;
  if (at < -1.0f || at > static_cast<float>(in)) return false;
  at = std::max(at, 0.0f);
  *low = static_cast<int64_t>(at);
  *high = *low + 1;
  if (*low >= in - 1) {
    *low = *high = in - 1;
    at = static_cast<float>(*low);
  }
  *weight = at - static_cast<float>(*low);
  return true;
}

// A box in positions of X; its bins' samples along y and x. Not ok where a coordinate is not finite: it has no bins.
struct RoiBox {
  float x0, y0, width, height;
  bool ok;

  AMPC_HOST_DEVICE RoiSamples Rows(const RoiAlign& r, int64_t i) const {
    const float bin = height / static_cast<float>(r.out_h);
    return MakeRoiSamples(y0 + static_cast<float>(i) * bin, bin, r.in_h, r.sampling, r.out_h, height);
  }
  AMPC_HOST_DEVICE RoiSamples Columns(const RoiAlign& r, int64_t j) const {
    const float bin = width / static_cast<float>(r.out_w);
    return MakeRoiSamples(x0 + static_cast<float>(j) * bin, bin, r.in_w, r.sampling, r.out_w, width);
  }
};

// Of the corners x0, y0, x1, y1.
AMPC_HOST_DEVICE inline RoiBox MakeRoiBox(const RoiAlign& r, float x0, float y0, float x1, float y1) {
  const float offset = r.aligned ? 0.5f : 0.0f;
  RoiBox b;
  b.x0 = x0 * r.scale - offset;
  b.y0 = y0 * r.scale - offset;
  b.width = x1 * r.scale - offset - b.x0;
  b.height = y1 * r.scale - offset - b.y0;
  b.ok = b.x0 - b.x0 == 0 && b.y0 - b.y0 == 0 && b.width - b.width == 0 && b.height - b.height == 0;
  if (!r.aligned) {
    b.width = std::max(b.width, 1.0f);
    b.height = std::max(b.height, 1.0f);
  }
  return b;
}

// The divisor of the sum of a bin's samples.
AMPC_HOST_DEVICE inline float RoiDivisor(const RoiSamples& y, const RoiSamples& x) {
  return static_cast<float>(std::max(1.0, y.count * x.count));
}

// at(position): an element of the plane.
template <typename Plane>
AMPC_HOST_DEVICE inline float MeanOfRoiBin(const Plane& at, const RoiAlign& r, const RoiSamples& y, const RoiSamples& x) {
  float sum = 0;
  for (int64_t i = y.first; i < y.last; ++i) {
    int64_t top, bottom, left, right;
    float down, across;
    if (!PlaceRoiSample(y, i, r.in_h, &top, &bottom, &down)) continue;
    for (int64_t j = x.first; j < x.last; ++j) {
      if (!PlaceRoiSample(x, j, r.in_w, &left, &right, &across)) continue;
      const int64_t a = top * r.in_w, b = bottom * r.in_w;
      sum += (1 - down) * (1 - across) * at(a + left) + (1 - down) * across * at(a + right) + down * (1 - across) * at(b + left) +
             down * across * at(b + right);
    }
  }
  return sum / RoiDivisor(y, x);
}

// As ONNX has it: the largest product of a position and its weight in any sample; one that touches nothing is 0.
template <typename Plane>
AMPC_HOST_DEVICE inline float LargestOfRoiBin(const Plane& at, const RoiAlign& r, const RoiSamples& y, const RoiSamples& x) {
  float largest = -std::numeric_limits<float>::infinity();
  bool any = false, outside = static_cast<double>(y.last - y.first) < y.count || static_cast<double>(x.last - x.first) < x.count;
  const auto take = [&](float product) { largest = product > largest || product != product ? product : largest; };
  for (int64_t i = y.first; i < y.last; ++i) {
    int64_t top = 0, bottom = 0, left = 0, right = 0;
    float down = 0, across = 0;
    const bool row = PlaceRoiSample(y, i, r.in_h, &top, &bottom, &down);
    for (int64_t j = x.first; j < x.last; ++j) {
      if (!row || !PlaceRoiSample(x, j, r.in_w, &left, &right, &across)) {
        outside = true;
        continue;
      }
      any = true;
      const int64_t a = top * r.in_w, b = bottom * r.in_w;
      take((1 - down) * (1 - across) * at(a + left));
      take((1 - down) * across * at(a + right));
      take(down * (1 - across) * at(b + left));
      take(down * across * at(b + right));
    }
  }
  if (outside || !any) take(0);
  return largest;
}

template <typename Plane>
AMPC_HOST_DEVICE inline float RoiBin(const Plane& at, const RoiAlign& r, const RoiSamples& y, const RoiSamples& x) {
  return r.max ? LargestOfRoiBin(at, r, y, x) : MeanOfRoiBin(at, r, y, x);
}

}  // namespace ampc
