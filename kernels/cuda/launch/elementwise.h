// Maps: a result's elements from those at their places in operands that may repeat (broadcasting).
//
//   struct AddOf { template <class C> AMPC_HOST_DEVICE C operator()(C x, C y) const { return x + y; } };
//   LaunchMap<float, 2>(stream, params, AddOf{})
// The shape is planned on the host: kernels/cuda/elementwise/map_plan.h.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/divider.h"
#include "kernels/cuda/launch/lanes.h"
#include "kernels/cuda/launch/launch.h"

namespace ampc::cuda {

inline constexpr int kMaxMapRank = 8;

// The result's dimensions, innermost first, as few as possible.
struct MapShape {
  int64_t n = 0;  // elements
  int rank = 0;
  Divider size[kMaxMapRank];
};

// How an operand's elements lie along the lanes of a thread.
enum class Along : uint8_t {
  kSame,     // like the result's
  kOne,      // one element for all
  kRow,      // strided by dimension; lanes never leave a row, which is dense
  kRepeat,   // strided by dimension; one element for all lanes
  kElement,  // strided by dimension, every lane by itself
};

struct MapOperand {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  Along along = Along::kSame;
  int64_t stride[kMaxMapRank] = {};  // in elements, of MapShape::size
};

struct MapResult {
  void* data = nullptr;
  DType dtype = DType::kF32;
};

AMPC_HOST_DEVICE inline int64_t OffsetOf(const MapShape& shape, const MapOperand& a, int64_t i) {
  int64_t offset = 0;
  for (int d = 0; d < shape.rank; ++d) {
    const int64_t rest = shape.size[d].Quotient(i);
    offset += (i - rest * shape.size[d].divisor()) * a.stride[d];
    i = rest;
  }
  return offset;
}

// The operand's values for the result's elements [first, first + count), count <= kLanes<C>; zeros behind them. `aligned`: of a.data.
template <class C>
AMPC_HOST_DEVICE inline void ReadLanes(const MapShape& shape, const MapOperand& a, bool aligned, int64_t first, int count,
                                       C (&v)[kLanes<C>]) {
  const bool dense = a.along == Along::kSame || a.along == Along::kRow;
  int64_t offset = a.along == Along::kSame ? first : 0;
  if (a.along == Along::kRow || a.along == Along::kRepeat) offset = OffsetOf(shape, a, first);
  if (dense && aligned && count == kLanes<C>) return LoadPack(a.dtype, a.data, offset, v);
  if (a.along == Along::kOne || a.along == Along::kRepeat) {
    const C value = LoadOne<C>(a.dtype, a.data, offset);
    AMPC_UNROLL
    for (int k = 0; k < kLanes<C>; ++k) v[k] = value;
    return;
  }
  AMPC_UNROLL
  for (int k = 0; k < kLanes<C>; ++k) {
    v[k] = k < count ? LoadOne<C>(a.dtype, a.data, dense ? offset + k : OffsetOf(shape, a, first + k)) : C{};
  }
}

template <class C>
AMPC_HOST_DEVICE inline void WriteLanes(const MapResult& out, bool aligned, int64_t first, int count, const C (&v)[kLanes<C>]) {
  if (aligned && count == kLanes<C>) return StorePack(out.dtype, out.data, first, v);
  AMPC_UNROLL
  for (int k = 0; k < kLanes<C>; ++k)
    if (k < count) StoreOne(out.dtype, out.data, first + k, v[k]);
}

AMPC_HOST_DEVICE inline int LanesAt(int64_t first, int64_t n, int lanes) { return n - first < lanes ? static_cast<int>(n - first) : lanes; }

template <int kIn>
struct MapParams {
  MapShape shape;
  MapOperand in[kIn];
  MapResult out;
};

// The work of one thread on a step of lanes. F is called with C values; `f.Prepare()` makes what is called, once per thread and step.
template <class C, int kIn, class F>
struct MapStep {
  MapParams<kIn> p;
  bool aligned[kIn + 1];  // the operands', the result's
  F f;

  AMPC_DEVICE void operator()(int64_t step) const {
    const int64_t first = step * kLanes<C>;
    const int count = LanesAt(first, p.shape.n, kLanes<C>);
    C v[kIn][kLanes<C>];
    AMPC_UNROLL
    for (int i = 0; i < kIn; ++i) ReadLanes<C>(p.shape, p.in[i], aligned[i], first, count, v[i]);
    const auto g = f.Prepare();
    using R = std::conditional_t<std::is_same_v<decltype(Call(g, v, 0)), bool>, int64_t, C>;
    Write<R>(g, v, first, count);
  }

 private:
  template <class G>
  AMPC_DEVICE static auto Call(const G& g, const C (&v)[kIn][kLanes<C>], int k) {
    if constexpr (kIn == 1) return g(v[0][k]);
    if constexpr (kIn == 2) return g(v[0][k], v[1][k]);
    if constexpr (kIn == 3) return g(v[0][k], v[1][k], v[2][k]);
  }
  // A truth value is written as an integer is.
  template <class R, class G>
  AMPC_DEVICE void Write(const G& g, const C (&v)[kIn][kLanes<C>], int64_t first, int count) const {
    if constexpr (std::is_same_v<R, C>) {
      C r[kLanes<C>];
      AMPC_UNROLL
      for (int k = 0; k < kLanes<C>; ++k) r[k] = Call(g, v, k);
      WriteLanes<C>(p.out, aligned[kIn], first, count, r);
    } else {
      Pack<bool, kLanes<C>> r;
      AMPC_UNROLL
      for (int k = 0; k < kLanes<C>; ++k) r.v[k] = Call(g, v, k);
      bool* to = static_cast<bool*>(p.out.data) + first;
      if (aligned[kIn] && count == kLanes<C>) {
        *reinterpret_cast<Pack<bool, kLanes<C>>*>(to) = r;
        return;
      }
      AMPC_UNROLL
      for (int k = 0; k < kLanes<C>; ++k)
        if (k < count) to[k] = r.v[k];
    }
  }
};

template <class C, int kIn, class F>
int LaunchMap(void* stream, const MapParams<kIn>& p, F f) {
  MapStep<C, kIn, F> step{p, {}, f};
  for (int i = 0; i < kIn; ++i) step.aligned[i] = IsAligned(p.in[i].data);
  step.aligned[kIn] = IsAligned(p.out.data);
  return ForEach(stream, (p.shape.n + kLanes<C> - 1) / kLanes<C>, step);
}

}  // namespace ampc::cuda
