#include "kernels/cuda/sampling/roi.h"

#include <limits>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/sampling/const_floats.h"

namespace ampc::cuda {
namespace {

AMPC_HOST_DEVICE inline int64_t BoxesOf(const RoiInputs& in, int64_t image) {
  return in.num_type == DType::kI32 ? static_cast<const int32_t*>(in.num)[image] : static_cast<const int64_t*>(in.num)[image];
}

// r.images where no image has the box.
AMPC_HOST_DEVICE inline int64_t ImageOf(const RoiAlign& r, const RoiInputs& in, int64_t box) {
  if (in.num == nullptr) return 0;
  int64_t image = 0, end = 0;
  for (; image < r.images; ++image) {
    end += BoxesOf(in, image);
    if (box < end) break;
  }
  return image;
}

AMPC_HOST_DEVICE inline RoiBox BoxAt(const RoiAlign& r, const RoiInputs& in, int64_t box) {
  float corner[4];
  for (int k = 0; k < 4; ++k) corner[k] = LoadFloat<float>({in.type, in.rois}, box * 4 + k);
  return MakeRoiBox(r, corner[0], corner[1], corner[2], corner[3]);
}

template <class T>
struct PlaneOf {
  const T* at;
  AMPC_HOST_DEVICE float operator()(int64_t i) const { return static_cast<float>(Load(at[i])); }
};

template <class T>
int Align(void* stream, const RoiAlign& r, const RoiInputs& in, const T* x, T* out) {
  return ForEach(stream, r.boxes * r.channels * r.out_h * r.out_w, [=] AMPC_DEVICE(int64_t i) {
    const int64_t column = i % r.out_w, row = i / r.out_w % r.out_h, channel = i / (r.out_w * r.out_h) % r.channels;
    const int64_t box = i / (r.out_w * r.out_h * r.channels), image = ImageOf(r, in, box);
    const RoiBox b = BoxAt(r, in, box);
    float bin = std::numeric_limits<float>::quiet_NaN();
    if (b.ok && image < r.images) {
      bin = RoiBin(PlaneOf<T>{x + (image * r.channels + channel) * r.in_h * r.in_w}, r, b.Rows(r, row), b.Columns(r, column));
    }
    Store(out[i], static_cast<ComputeType<T>>(bin));
  });
}

// How much position `at` counts among the samples of a bin along one axis.
AMPC_HOST_DEVICE inline float ShareOf(const RoiSamples& s, int64_t in, int64_t at) {
  float share = 0;
  for (int64_t i = s.first; i < s.last; ++i) {
    int64_t low, high;
    float weight;
    if (!PlaceRoiSample(s, i, in, &low, &high, &weight)) continue;
    if (low == at) share += 1 - weight;
    if (high == at) share += weight;
  }
  return share;
}

// Whether the samples of bins from `begin` on over `size` positions may touch `at`.
AMPC_HOST_DEVICE inline bool MayTouch(float begin, float size, int64_t in, int64_t at) {
  const float p = static_cast<float>(at), low = size < 0 ? begin + size : begin, high = size < 0 ? begin : begin + size;
  return (at == 0 || p > low - 2) && (at == in - 1 || p < high + 2);
}

template <class T>
int AlignGradient(void* stream, const RoiAlign& r, const RoiInputs& in, const T* gradient, T* out) {
  return ForEach(stream, r.images * r.channels * r.in_h * r.in_w, [=] AMPC_DEVICE(int64_t i) {
    const int64_t column = i % r.in_w, row = i / r.in_w % r.in_h, channel = i / (r.in_w * r.in_h) % r.channels;
    const int64_t image = i / (r.in_w * r.in_h * r.channels);
    int64_t begin = 0, end = r.boxes;
    if (in.num != nullptr) {
      for (int64_t n = 0; n < image; ++n) begin += BoxesOf(in, n);
      end = begin + BoxesOf(in, image);
      if (end > r.boxes) end = r.boxes;
    }
    float sum = 0;
    for (int64_t box = begin < 0 ? 0 : begin; box < end; ++box) {
      const RoiBox b = BoxAt(r, in, box);
      if (!b.ok || !MayTouch(b.y0, b.height, r.in_h, row) || !MayTouch(b.x0, b.width, r.in_w, column)) continue;
      const T* const bins = gradient + (box * r.channels + channel) * r.out_h * r.out_w;
      for (int64_t y = 0; y < r.out_h; ++y) {
        const RoiSamples rows = b.Rows(r, y);
        const float down = ShareOf(rows, r.in_h, row);
        if (down == 0) continue;
        for (int64_t x = 0; x < r.out_w; ++x) {
          const RoiSamples columns = b.Columns(r, x);
          const float across = ShareOf(columns, r.in_w, column);
          if (across == 0) continue;
          sum += down * across * (static_cast<float>(Load(bins[y * r.out_w + x])) / RoiDivisor(rows, columns));
        }
      }
    }
    Store(out[i], static_cast<ComputeType<T>>(sum));
  });
}

}  // namespace

int LaunchRoiAlign(void* stream, DType type, const RoiAlign& r, const RoiInputs& in, const void* x, void* out) {
  return VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Align<T>(stream, r, in, static_cast<const T*>(x), static_cast<T*>(out));
  });
}

int LaunchRoiAlignGradient(void* stream, DType type, const RoiAlign& r, const RoiInputs& in, const void* gradient, void* out) {
  return VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return AlignGradient<T>(stream, r, in, static_cast<const T*>(gradient), static_cast<T*>(out));
  });
}

}  // namespace ampc::cuda
