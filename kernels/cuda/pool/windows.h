// The windows of pooling, in device code.
#pragma once

#include "kernels/common/host_device.h"
#include "kernels/cuda/pool/pool_code.h"

namespace ampc::cuda {

// The positions [begin, end) of a window along one axis, and how many a mean divides by.
struct Range {
  int64_t begin, end;
  double count;
};

AMPC_HOST_DEVICE inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
AMPC_HOST_DEVICE inline int64_t Most(int64_t a, int64_t b) { return a > b ? a : b; }

AMPC_HOST_DEVICE inline Range WindowAt(const Pool& p, int axis, int64_t i) {
  const PoolAxis& a = p.axis[axis];
  const int64_t in = p.x.size[axis], out = p.out.size[axis];
  if (a.adaptive) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    return {begin, end, static_cast<double>(end - begin)};
  }
  const int64_t begin = i * a.stride - a.before, padded_end = Least(begin + a.kernel, in + a.after);
  const int64_t first = Most(begin, 0), last = Least(padded_end, in);
  if (first >= last) return {0, 0, 1};
  return {first, last, static_cast<double>(p.exclusive ? last - first : padded_end - begin)};
}

// The windows [begin, end) that may have the position.
AMPC_HOST_DEVICE inline Range WindowsOver(const Pool& p, int axis, int64_t i) {
  const PoolAxis& a = p.axis[axis];
  const int64_t in = p.x.size[axis], out = p.out.size[axis];
  if (a.adaptive) return {i * out / in, Least(out, ((i + 1) * out + in - 1) / in), 0};
  const int64_t at = i + a.before;
  return {at < a.kernel ? 0 : (at - a.kernel) / a.stride + 1, Least(out, at / a.stride + 1), 0};
}

struct Box {
  Range d, h, w;
};

AMPC_HOST_DEVICE inline Box BoxAt(const Pool& p, const int64_t* s) {
  return {WindowAt(p, 0, s[0]), WindowAt(p, 1, s[1]), WindowAt(p, 2, s[2])};
}
AMPC_HOST_DEVICE inline int64_t Length(const Range& r) { return r.end > r.begin ? r.end - r.begin : 0; }
AMPC_HOST_DEVICE inline int64_t Positions(const Box& b) { return Length(b.d) * Length(b.h) * Length(b.w); }
AMPC_HOST_DEVICE inline float FactorOf(const Box& b) { return static_cast<float>(1.0 / (b.d.count * b.h.count * b.w.count)); }

AMPC_HOST_DEVICE inline bool Has(const Box& b, const int64_t* s) {
  return s[0] >= b.d.begin && s[0] < b.d.end && s[1] >= b.h.begin && s[1] < b.h.end && s[2] >= b.w.begin && s[2] < b.w.end;
}

AMPC_HOST_DEVICE inline float Larger(float value, float largest) { return value > largest || value != value ? value : largest; }

}  // namespace ampc::cuda
