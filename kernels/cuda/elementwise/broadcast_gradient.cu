#include "kernels/cuda/elementwise/broadcast_gradient.h"

#include "kernels/common/gradient_functors.h"

namespace ampc::cuda {
namespace {

using functors::RowGradient;

template <class C, class F>
struct Functor {
  AMPC_HOST_DEVICE const Functor& Prepare() const { return *this; }
  AMPC_HOST_DEVICE C operator()(C x, C y, C g) const { return F::Apply(functors::ScalarMath<C>{}, x, y, g, functors::Params<C>{}); }
};

template <class C>
int LaunchWhole(void* stream, const BroadcastGradientParams& p) {
  switch (p.functor) {
#define AMPC_CASE(name) \
  case RowGradient::k##name: return LaunchMap<C, 3>(stream, p.map, Functor<C, functors::name>{});
    AMPC_BROADCAST_GRADIENTS(AMPC_CASE)
#undef AMPC_CASE
    default: return -1;
  }
}

struct Offsets {
  int64_t x, y, g;
};

AMPC_HOST_DEVICE inline Offsets OffsetsIn(const GradientAxes& axes, int64_t i) {
  Offsets at{0, 0, 0};
  for (int d = 0; d < axes.rank; ++d) {
    const int64_t rest = axes.size[d].Quotient(i);
    const int64_t k = i - rest * axes.size[d].divisor();
    at.x += k * axes.stride[0][d];
    at.y += k * axes.stride[1][d];
    at.g += k * axes.stride[2][d];
    i = rest;
  }
  return at;
}

// One term of a result; only what the functor needs is read.
template <class C>
struct Term {
  const BroadcastGradientParams& p;
  Offsets kept;

  template <class F>
  AMPC_HOST_DEVICE C Apply(Offsets at) const {
    const C x = LoadOne<C>(p.map.in[0].dtype, p.map.in[0].data, kept.x + at.x);
    const C y = LoadOne<C>(p.map.in[1].dtype, p.map.in[1].data, kept.y + at.y);
    const C g = LoadOne<C>(p.map.in[2].dtype, p.map.in[2].data, kept.g + at.g);
    return F::Apply(functors::ScalarMath<C>{}, x, y, g, functors::Params<C>{});
  }

  AMPC_HOST_DEVICE double operator()(int64_t term) const {
    const Offsets at = OffsetsIn(p.summed, term);
    switch (p.functor) {
#define AMPC_CASE(name) \
  case RowGradient::k##name: return static_cast<double>(Apply<functors::name>(at));
      AMPC_BROADCAST_GRADIENTS(AMPC_CASE)
#undef AMPC_CASE
      default: return 0;
    }
  }
};

AMPC_HOST_DEVICE inline int64_t TermsOf(const BroadcastGradientParams& p, int64_t chunk) {
  const int64_t rest = p.summed.count - chunk * p.chunk;
  return rest < p.chunk ? rest : p.chunk;
}

// A chunk per thread; neighbours take neighbouring results.
template <class C>
struct ColumnChunk {
  BroadcastGradientParams p;
  AMPC_DEVICE void operator()(int64_t i) const {
    const int64_t chunk = i / p.kept.count, result = i % p.kept.count;
    const Term<C> term{p, OffsetsIn(p.kept, result)};
    const int64_t first = chunk * p.chunk, n = TermsOf(p, chunk);
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += term(first + k);
    p.parts[i] = sum;
  }
};

// A chunk per team.
template <class C>
struct TeamChunk {
  BroadcastGradientParams p;
  template <class T>
  AMPC_DEVICE void operator()(T& team, int64_t i) const {
    const int64_t chunk = i / p.kept.count, result = i % p.kept.count;
    const Term<C> term{p, OffsetsIn(p.kept, result)};
    const int64_t first = chunk * p.chunk;
    const double sum = team.Reduce(
        TermsOf(p, chunk), 0.0, [&](int64_t k) { return term(first + k); }, Plus{});
    team.Once([&] { p.parts[i] = sum; });
  }
};

// The chunks' sums, by a thread or by a team.
struct Finish {
  BroadcastGradientParams p;
  AMPC_HOST_DEVICE void Put(int64_t result, double sum) const {
    if (p.map.out.dtype == DType::kF64) {
      static_cast<double*>(p.map.out.data)[result] = sum;
    } else {
      StoreOne<float>(p.map.out.dtype, p.map.out.data, result, static_cast<float>(sum));
    }
  }
  AMPC_DEVICE void operator()(int64_t result) const {
    double sum = 0;
    for (int64_t c = 0; c < p.chunks; ++c) sum += p.parts[c * p.kept.count + result];
    Put(result, sum);
  }
  template <class T>
  AMPC_DEVICE void operator()(T& team, int64_t result) const {
    const double sum = team.Reduce(
        p.chunks, 0.0, [&](int64_t c) { return p.parts[c * p.kept.count + result]; }, Plus{});
    team.Once([&] { Put(result, sum); });
  }
};

template <class C>
int LaunchSums(void* stream, const BroadcastGradientParams& p) {
  const int64_t units = p.kept.count * p.chunks;
  const int code = p.columns ? ForEach(stream, units, ColumnChunk<C>{p}) : ForEachTeam(stream, units, p.chunk, TeamChunk<C>{p});
  if (code != 0) return code;
  constexpr int64_t kThreadChunks = 64;  // as many sums as a thread adds alone
  return p.chunks <= kThreadChunks ? ForEach(stream, p.kept.count, Finish{p}) : ForEachTeam(stream, p.kept.count, p.chunks, Finish{p});
}

}  // namespace

int LaunchBroadcastGradient(void* stream, const BroadcastGradientParams& p) {
  const bool wide = p.map.in[2].dtype == DType::kF64;
  if (p.sums) return wide ? LaunchSums<double>(stream, p) : LaunchSums<float>(stream, p);
  return wide ? LaunchWhole<double>(stream, p) : LaunchWhole<float>(stream, p);
}

}  // namespace ampc::cuda
