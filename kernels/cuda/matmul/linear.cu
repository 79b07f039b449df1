#include "kernels/cuda/matmul/linear.h"

#include "kernels/common/functors.h"
#include "kernels/common/gradient_functors.h"
#include "kernels/cuda/base/visit_single.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

using functors::Params;
using functors::ScalarMath;

constexpr int kBits = 8;  // columns of a byte of relu's mask

// A byte of relu's mask and its columns; the bytes at the end of a row have none.
template <class T>
struct ReluByte {
  LinearParams p;
  const T* bias;
  uint8_t* reserve;
  int64_t bytes;  // per row
  AMPC_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t r = i / bytes, byte = i % bytes;
    unsigned mask = 0;
    for (int b = 0; b < kBits; ++b) {
      const int64_t c = byte * kBits + b;
      if (c >= p.cols) break;
      const float value = p.product[r * p.cols + c] + Load(bias[c]);
      if (value > 0) mask |= 1u << b;
      Store(static_cast<T*>(p.out)[r * p.cols + c], functors::Relu::Apply(ScalarMath<float>(), value, Params<float>()));
    }
    if (reserve != nullptr) reserve[r * p.reserve_row + byte] = static_cast<uint8_t>(mask);
  }
};

// None and gelu.
template <class T>
struct LinearOne {
  LinearParams p;
  const T* bias;
  T* reserve;
  AMPC_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t r = i / p.cols, c = i % p.cols;
    float value = p.product[i] + Load(bias[c]);
    if (reserve != nullptr) Store(reserve[r * p.reserve_row + c], value);
    if (p.function == ActivationKind::kGeluTanh) value = functors::GeluTanh::Apply(ScalarMath<float>(), value, Params<float>());
    Store(static_cast<T*>(p.out)[i], value);
  }
};

template <class T>
int LinearAs(void* stream, const LinearParams& p, const void* bias, void* reserve) {
  const T* const b = static_cast<const T*>(bias);
  if (p.function != ActivationKind::kRelu) return ForEach(stream, p.rows * p.cols, LinearOne<T>{p, b, static_cast<T*>(reserve)});
  const int64_t bytes = reserve != nullptr ? p.reserve_row : (p.cols + kBits - 1) / kBits;
  return ForEach(stream, p.rows * bytes, ReluByte<T>{p, b, static_cast<uint8_t*>(reserve), bytes});
}

template <class T>
struct LinearGradientOne {
  LinearParams p;
  const void* reserve;
  AMPC_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t r = i / p.cols, c = i % p.cols;
    float value = p.product[i];
    if (p.function == ActivationKind::kRelu) {
      const uint8_t byte = static_cast<const uint8_t*>(reserve)[r * p.reserve_row + c / kBits];
      value = (byte >> (c % kBits) & 1) != 0 ? value : 0.0f;
    } else if (p.function == ActivationKind::kGeluTanh) {
      const float x = Load(static_cast<const T*>(reserve)[r * p.reserve_row + c]);
      value = functors::GeluTanhGrad::Apply(ScalarMath<float>(), x, value, Params<float>());
    }
    Store(static_cast<T*>(p.out)[i], value);
  }
};

template <class T>
int LinearGradientAs(void* stream, const LinearParams& p, const void* reserve) {
  return ForEach(stream, p.rows * p.cols, LinearGradientOne<T>{p, reserve});
}

}  // namespace

int LaunchLinear(void* stream, const LinearParams& p, const void* bias, void* reserve) {
  return VisitSingle(p.type, [&](auto tag) { return LinearAs<typename decltype(tag)::Type>(stream, p, bias, reserve); });
}

int LaunchLinearGradient(void* stream, const LinearParams& p, const void* reserve) {
  return VisitSingle(p.type, [&](auto tag) { return LinearGradientAs<typename decltype(tag)::Type>(stream, p, reserve); });
}

}  // namespace ampc::cuda
