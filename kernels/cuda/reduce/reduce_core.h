// Reductions of any source over any shape, in device code.
//
// A source has Acc, a trivially copyable type whose size is a multiple of 4 bytes, and
//   Acc Start(), Acc Join(Acc, Acc)     associative and commutative but for rounding
//   Part, Acc Widen(Part)               what some neighbouring elements of a column come to, and that as an Acc
//   Part StartPart()
//   Acc Of<w>(offset, i, result)        w neighbours at `offset` of the operand, elements i.. of `result`, when columns == 1
//   void Add<w>(part, offset, i, result)  element i of w neighbouring results, when there are columns
//   void Finish(Acc, result)            stores
#pragma once

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/rows.h"
#include "kernels/cuda/reduce/reduce_shape.h"

namespace ampc::cuda {

template <class Source, int kWidth>
struct ReduceSlice {
  ReduceShape shape;
  Source source;
  typename Source::Acc* parts;  // null: one slice

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t t) const {
    using Acc = typename Source::Acc;
    const int64_t kept = shape.slices == 1 ? t : t / shape.slices, first = t % shape.slices * shape.slice;
    const int64_t rest = shape.count - first, n = rest < shape.slice ? rest : shape.slice, packs = n / kWidth;
    const int64_t base = shape.kept.OffsetOf(kept);
    const auto join = [&](Acc a, Acc b) { return source.Join(a, b); };
    Acc acc = team.Reduce(
        packs, source.Start(),
        [&](int64_t p) {
          const int64_t i = first + p * kWidth;
          return source.template Of<kWidth>(base + shape.OffsetOf(i), i, kept);
        },
        join);
    for (int64_t i = first + packs * kWidth; i < first + n; ++i) {
      acc = source.Join(acc, source.template Of<1>(base + shape.OffsetOf(i), i, kept));
    }
    team.Once([&] {
      if (parts != nullptr) {
        parts[t] = acc;
      } else {
        source.Finish(acc, kept);
      }
    });
  }
};

// One slice of kWidth neighbouring columns.
template <class Source, int kWidth>
struct ReduceColumnSlice {
  ReduceShape shape;
  Source source;
  typename Source::Acc* parts;

  AMPC_DEVICE void operator()(int64_t t) const {
    using Acc = typename Source::Acc;
    constexpr int64_t kRun = 16;  // elements that a Part takes
    const int64_t groups = shape.columns / kWidth, column = t % groups * kWidth, block = t / groups;
    const int64_t kept = block / shape.slices, result = kept * shape.columns + column;
    const int64_t first = block % shape.slices * shape.slice, rest = shape.count - first;
    const int64_t last = first + (rest < shape.slice ? rest : shape.slice);
    const int64_t base = shape.kept.OffsetOf(kept) + column;
    Acc acc[kWidth];
    for (int k = 0; k < kWidth; ++k) acc[k] = source.Start();
    for (int64_t i = first; i < last;) {
      const int64_t unit = shape.reduced.rank == 0 ? 0 : i / shape.rows, unit_end = (unit + 1) * shape.rows;
      const int64_t end = unit_end < last ? unit_end : last;
      int64_t at = base + shape.reduced.OffsetOf(unit) + (i - unit * shape.rows) * shape.columns;
      while (i < end) {
        const int64_t stop = i + kRun < end ? i + kRun : end;
        typename Source::Part part[kWidth];
        for (int k = 0; k < kWidth; ++k) part[k] = source.StartPart();
        for (; i < stop; ++i, at += shape.columns) source.template Add<kWidth>(part, at, i, result);
        for (int k = 0; k < kWidth; ++k) acc[k] = source.Join(acc[k], source.Widen(part[k]));
      }
    }
    for (int k = 0; k < kWidth; ++k) {
      if (parts != nullptr) {
        parts[block * shape.columns + column + k] = acc[k];
      } else {
        source.Finish(acc[k], result + k);
      }
    }
  }
};

// The second stage: slices in their order, whatever the team's size but for rounding.
template <class Source>
struct JoinSlices {
  ReduceShape shape;
  Source source;
  const typename Source::Acc* parts;  // [kept, slices, columns]

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t result) const {
    using Acc = typename Source::Acc;
    const Acc* from = parts + result / shape.columns * shape.slices * shape.columns + result % shape.columns;
    const Acc acc = team.Reduce(
        shape.slices, source.Start(), [&](int64_t s) { return from[s * shape.columns]; }, [&](Acc a, Acc b) { return source.Join(a, b); });
    team.Once([&] { source.Finish(acc, result); });
  }
};

// `packs`: the operand may be read in packs (see PacksOfShape). `workspace`: shape.parts() of Acc.
template <class T, class Source>
int Reduce(void* stream, const ReduceShape& shape, const Source& source, bool packs, void* workspace) {
  using Acc = typename Source::Acc;
  Acc* parts = shape.slices > 1 ? static_cast<Acc*>(workspace) : nullptr;
  const int64_t blocks = shape.num_kept * shape.slices;
  int rc;
  if (shape.columns != 1) {
    rc = packs ? ForEach(stream, blocks * (shape.columns / kPack<T>), ReduceColumnSlice<Source, kPack<T>>{shape, source, parts})
               : ForEach(stream, blocks * shape.columns, ReduceColumnSlice<Source, 1>{shape, source, parts});
  } else {
    const int64_t n = shape.slice < shape.count ? shape.slice : shape.count;
    rc = packs ? ForEachRow(stream, blocks, n, false, 0, ReduceSlice<Source, kPack<T>>{shape, source, parts})
               : ForEachRow(stream, blocks, n, false, 0, ReduceSlice<Source, 1>{shape, source, parts});
  }
  if (rc != 0 || parts == nullptr) return rc;
  return ForEachTeam(stream, shape.results(), shape.slices, JoinSlices<Source>{shape, source, parts});
}

// Whether every run of the shape starts at a whole pack of T and consists of such, in operands at `pointers`.
template <class T>
bool PacksOfShape(const ReduceShape& s, std::initializer_list<const void*> pointers) {
  if (!PacksFit<T>(0, pointers)) return false;
  const auto whole = [](int64_t n) { return n % kPack<T> == 0; };
  if (s.columns != 1 && !whole(s.columns)) return false;
  if (s.columns == 1 && s.reduced.rank > 0 && !whole(s.rows)) return false;
  for (int d = 0; d < s.reduced.rank; ++d) {
    if (!whole(s.reduced.stride[d])) return false;
  }
  for (int d = 0; d < s.kept.rank; ++d) {
    if (s.kept.size[d] > 1 && !whole(s.kept.stride[d])) return false;
  }
  return true;
}

}  // namespace ampc::cuda
