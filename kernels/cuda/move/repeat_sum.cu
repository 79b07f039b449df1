#include "kernels/cuda/move/repeat_sum.h"

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

// Item i: part i / results of result i % results. The sum is stored as the result, or as an element of the workspace.
template <class T>
struct SumPart {
  RepeatSumParams p;
  int64_t part_terms;
  const T* from;
  T* to;
  double* partial;

  AMPC_DEVICE int64_t First(int64_t i) const { return i / p.results * part_terms; }
  AMPC_DEVICE int64_t Count(int64_t first) const {
    const int64_t rest = p.terms - first;
    return rest <= 0 ? 0 : rest < part_terms ? rest : part_terms;
  }
  AMPC_DEVICE void Put(int64_t i, double sum) const {
    if (p.parts == 1) {
      Store(to[i], static_cast<ComputeType<T>>(sum));
    } else {
      partial[i] = sum;
    }
  }
  // A thread for each.
  AMPC_DEVICE void operator()(int64_t i) const {
    const T* const x = from + p.kept.At(i % p.results);
    const int64_t first = First(i), last = first + Count(first);
    double sum = 0;
    for (int64_t t = first; t < last; ++t) sum += static_cast<double>(Load(x[p.summed.At(t)]));
    Put(i, sum);
  }
};

template <class T>
struct SumPartByTeam {
  SumPart<T> part;

  template <class TeamType>
  AMPC_DEVICE void operator()(TeamType& team, int64_t i) const {
    const SumPart<T>& s = part;
    const T* const x = s.from + s.p.kept.At(i % s.p.results);
    const int64_t first = s.First(i);
    const double sum = team.Reduce(
        s.Count(first), 0.0, [&s, x, first](int64_t t) { return static_cast<double>(Load(x[s.p.summed.At(first + t)])); }, Plus());
    team.Once([&s, i, sum] { s.Put(i, sum); });
  }
};

template <class T>
int AddParts(void* stream, int64_t results, int64_t parts, const double* partial, T* to) {
  return ForEach(stream, results, [=] AMPC_DEVICE(int64_t i) {
    double sum = 0;
    for (int64_t part = 0; part < parts; ++part) sum += partial[part * results + i];
    Store(to[i], static_cast<ComputeType<T>>(sum));
  });
}

template <class T>
int Run(void* stream, const RepeatSumParams& p, const T* from, T* to, double* workspace) {
  const SumPart<T> part{p, (p.terms + p.parts - 1) / p.parts, from, to, workspace};
  const int64_t items = p.parts * p.results;
  const int code = p.teams ? ForEachTeam(stream, items, part.part_terms, SumPartByTeam<T>{part}) : ForEach(stream, items, part);
  return code != 0 || p.parts == 1 ? code : AddParts<T>(stream, p.results, p.parts, workspace, to);
}

}  // namespace

int LaunchRepeatSum(void* stream, const RepeatSumParams& p, const void* from, void* to, void* workspace) {
  if (p.results == 0) return 0;
  return VisitFloat(p.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Run<T>(stream, p, static_cast<const T*>(from), static_cast<T*>(to), static_cast<double*>(workspace));
  });
}

}  // namespace ampc::cuda
