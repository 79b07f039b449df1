#include "kernels/cuda/reduce/reduce_shape.h"

#include <algorithm>

#include "kernels/cuda/reduce/cumulate.h"

namespace ampc::cuda {
namespace {

constexpr int64_t kMaxSlices = 1 << 12;
constexpr int64_t kAlign = 16;  // slices start at whole packs

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void FinishShape(ReduceShape* s) {
  s->num_kept = s->kept.Count();
  s->count = s->reduced.Count() * s->rows;
  int64_t wanted = 1;
  if (s->columns == 1) {  // a team for each slice
    constexpr int64_t kTeams = 1 << 11, kLeast = 1 << 13;
    wanted = std::min(kTeams / std::max<int64_t>(1, s->num_kept), s->count / kLeast);
  } else {  // a thread for each slice of a column
    constexpr int64_t kThreads = 1 << 17, kLeast = 32;
    wanted = std::min(kThreads / std::max<int64_t>(1, s->results()), s->count / kLeast);
  }
  wanted = std::clamp<int64_t>(wanted, 1, kMaxSlices);
  s->slice = std::max<int64_t>(kAlign, DivideUp(DivideUp(s->count, wanted), kAlign) * kAlign);
  s->slices = std::max<int64_t>(1, DivideUp(s->count, s->slice));
}

void SliceRows(CumulateParams* p) {
  constexpr int64_t kTeams = 1 << 11, kLeast = 1 << 13;
  const int64_t rows = std::max<int64_t>(1, p->rows.rows()), size = std::max<int64_t>(1, p->rows.size);
  const int64_t wanted = std::clamp<int64_t>(std::min(kTeams / rows, size / kLeast), 1, kMaxSlices);
  p->slice = DivideUp(size, wanted);
  p->slices = DivideUp(size, p->slice);
}

}  // namespace ampc::cuda
