// Volume: an image or volume tensor by its strides, for device code that takes both layouts.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/host_device.h"

namespace ampc::cuda {

// [n, c, 3 spatial sizes]; an image has one plane. Strides in elements.
struct Volume {
  void* data = nullptr;
  DType type = DType::kF32;
  int64_t n = 0, c = 0;
  int64_t size[3] = {1, 1, 1};
  int64_t stride_n = 0, stride_c = 0;
  int64_t stride[3] = {};
  bool channels_last = false;  // in memory; else row-major
};

// Sets the strides from the rest.
inline void SetStrides(Volume* v) {
  int64_t step = v->channels_last ? v->c : 1;
  for (int a = 2; a >= 0; --a) {
    v->stride[a] = step;
    step *= v->size[a];
  }
  v->stride_c = v->channels_last ? 1 : step;
  v->stride_n = v->channels_last ? step : step * v->c;
}

struct VolumeIndex {
  int64_t n, c, s[3];
};

// Of the element that lies at `i` in memory.
AMPC_HOST_DEVICE inline VolumeIndex IndexAt(const Volume& v, int64_t i) {
  VolumeIndex p;
  if (v.channels_last) {
    p.c = i % v.c;
    i /= v.c;
  }
  for (int a = 2; a >= 0; --a) {
    p.s[a] = i % v.size[a];
    i /= v.size[a];
  }
  if (!v.channels_last) {
    p.c = i % v.c;
    i /= v.c;
  }
  p.n = i;
  return p;
}

AMPC_HOST_DEVICE inline int64_t Elements(const Volume& v) { return v.n * v.c * v.size[0] * v.size[1] * v.size[2]; }

AMPC_HOST_DEVICE inline int64_t OffsetOf(const Volume& v, const VolumeIndex& p) {
  return p.n * v.stride_n + p.c * v.stride_c + p.s[0] * v.stride[0] + p.s[1] * v.stride[1] + p.s[2] * v.stride[2];
}

}  // namespace ampc::cuda
