#include "kernels/cuda/matmul/strided_sum.h"

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

// Fewer results than this are summed by a team each, where they have many terms.
constexpr int64_t kFewElements = 4096, kManyTerms = 256;

AMPC_HOST_DEVICE inline int64_t OffsetOf(const StridedSumParams::Axis* axes, int count, int64_t i) {
  int64_t at = 0;
  for (int a = count - 1; a >= 0; --a) {
    at += i % axes[a].size * axes[a].in_stride;
    i /= axes[a].size;
  }
  return at;
}

template <class In, class Out>
struct Element {
  StridedSumParams p;

  // The source and the destination of element `i`.
  AMPC_HOST_DEVICE int64_t Place(int64_t i, int64_t* to) const {
    int64_t from = 0;
    *to = 0;
    for (int a = p.kept - 1; a >= 0; --a) {
      const int64_t at = i % p.kept_axes[a].size;
      i /= p.kept_axes[a].size;
      from += at * p.kept_axes[a].in_stride;
      *to += at * p.kept_axes[a].out_stride;
    }
    return from;
  }
  AMPC_HOST_DEVICE double Term(int64_t from, int64_t t) const {
    return static_cast<double>(Load(static_cast<const In*>(p.in)[from + OffsetOf(p.summed_axes, p.summed, t)]));
  }
  AMPC_HOST_DEVICE void Give(int64_t to, double sum) const {
    Store(static_cast<Out*>(p.out)[to], static_cast<ComputeType<Out>>(p.factor * sum));
  }
};

template <class In, class Out>
struct SumByThread : Element<In, Out> {
  AMPC_HOST_DEVICE void operator()(int64_t i) const {
    int64_t to = 0;
    const int64_t from = this->Place(i, &to);
    double sum = 0;
    for (int64_t t = 0; t < this->p.terms; ++t) sum += this->Term(from, t);
    this->Give(to, sum);
  }
};

template <class In, class Out>
struct CopyByThread : Element<In, Out> {
  AMPC_HOST_DEVICE void operator()(int64_t i) const {
    int64_t to = 0;
    const int64_t from = this->Place(i, &to);
    Store(static_cast<Out*>(this->p.out)[to], static_cast<ComputeType<Out>>(Load(static_cast<const In*>(this->p.in)[from])));
  }
};

template <class In, class Out>
struct SumByTeam : Element<In, Out> {
  template <class T>
  AMPC_DEVICE void operator()(T& team, int64_t i) const {
    int64_t to = 0;
    const int64_t from = this->Place(i, &to);
    const auto* self = this;
    const double sum = team.Reduce(
        this->p.terms, 0.0, [self, from](int64_t t) { return self->Term(from, t); }, Plus());
    team.Once([self, to, sum] { self->Give(to, sum); });
  }
};

template <class In, class Out>
int LaunchAs(void* stream, const StridedSumParams& p) {
  if (p.terms == 1 && p.factor == 1) return ForEach(stream, p.elements, CopyByThread<In, Out>{{p}});
  if (p.elements <= kFewElements && p.terms >= kManyTerms) return ForEachTeam(stream, p.elements, p.terms, SumByTeam<In, Out>{{p}});
  return ForEach(stream, p.elements, SumByThread<In, Out>{{p}});
}

}  // namespace

int LaunchStridedSum(void* stream, const StridedSumParams& p) {
  return VisitFloat(p.in_type, [&](auto in) {
    return VisitFloat(p.out_type, [&](auto out) { return LaunchAs<typename decltype(in)::Type, typename decltype(out)::Type>(stream, p); });
  });
}

}  // namespace ampc::cuda
