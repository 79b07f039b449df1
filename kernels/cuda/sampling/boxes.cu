#include "kernels/cuda/sampling/boxes.h"

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

template <class T>
struct Element {
  const T* from;
  AMPC_HOST_DEVICE float operator()(int64_t i) const { return static_cast<float>(Load(from[i])); }
};

template <class T>
struct Put {
  T* to;
  AMPC_HOST_DEVICE void operator()(int64_t i, float value) const { Store(to[i], static_cast<ComputeType<T>>(value)); }
};

AMPC_HOST_DEVICE inline float SizeAt(const YoloInputs& in, int64_t i) {
  return in.size_type == DType::kI32 ? static_cast<float>(static_cast<const int32_t*>(in.sizes)[i])
                                     : static_cast<float>(static_cast<const int64_t*>(in.sizes)[i]);
}

template <class T>
int Yolo(void* stream, const YoloBox& y, const YoloInputs& in, T* boxes, T* scores) {
  return ForEach(stream, y.images * y.boxes, [=] AMPC_DEVICE(int64_t i) {
    const int64_t image = i / y.boxes;
    const Element<T> maps{static_cast<const T*>(in.x) + image * in.map_elements};
    DecodeYoloBox(y, maps, i - image * y.boxes, SizeAt(in, 2 * image), SizeAt(in, 2 * image + 1), Put<T>{boxes + i * 4},
                  Put<T>{scores + i * y.classes});
  });
}

template <class T>
int Code(void* stream, const BoxCoder& b, const T* priors, const T* variances, const T* targets, T* out) {
  return ForEach(stream, b.n * b.m, [=] AMPC_DEVICE(int64_t i) {
    const int64_t prior = b.rows ? i / b.m : i % b.m, target = b.encode ? i / b.m : i;
    float p[4], t[4], v[4], result[4];
    for (int k = 0; k < 4; ++k) {
      p[k] = static_cast<float>(Load(priors[prior * 4 + k]));
      t[k] = static_cast<float>(Load(targets[target * 4 + k]));
      v[k] = variances == nullptr ? b.variance[k] : static_cast<float>(Load(variances[prior * 4 + k]));
    }
    if (b.encode) {
      EncodeBox(t, CenterOf(p, b.more), v, b.more, result);
    } else {
      DecodeBox(t, CenterOf(p, b.more), v, b.more, result);
    }
    for (int k = 0; k < 4; ++k) Store(out[i * 4 + k], static_cast<ComputeType<T>>(result[k]));
  });
}

}  // namespace

int LaunchYoloBox(void* stream, const YoloBox& y, const YoloInputs& in, void* boxes, void* scores) {
  return VisitFloat(in.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Yolo<T>(stream, y, in, static_cast<T*>(boxes), static_cast<T*>(scores));
  });
}

int LaunchBoxCoder(void* stream, const BoxCoder& b, const void* priors, const void* variances, const void* targets, void* out) {
  return VisitFloat(b.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Code<T>(stream, b, static_cast<const T*>(priors), static_cast<const T*>(variances), static_cast<const T*>(targets),
                   static_cast<T*>(out));
  });
}

}  // namespace ampc::cuda
