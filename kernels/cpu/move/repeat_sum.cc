#include "kernels/cpu/move/repeat_sum.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/cpu/simd/reduce.h"
#include "kernels/parallel.h"
#include "kernels/spec/move/repeat_spec.h"

namespace ampc {
namespace {

constexpr int64_t kBlock = 256;  // elements of a run that are added at a time

template <typename Axis>
int64_t OffsetOf(const std::vector<Axis>& axes, int64_t index) {
  int64_t offset = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    offset += index % axis->size * axis->stride;
    index /= axis->size;
  }
  return offset;
}

template <typename T>
double SumOf(const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    return simd::SumRow(x, n);
  } else {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
}

}  // namespace

RepeatSum::RepeatSum(absl::Span<const int64_t> dims, const std::vector<bool>& summed) {
  std::vector<RepeatAxis> axes = JoinRepeats(dims, summed);
  for (const RepeatAxis& a : axes) (a.summed ? terms_ : rows_) *= a.size;
  if (rows_ == 0 || terms_ == 0) return;
  if (!axes.empty()) {
    (axes[0].summed ? sum_run_ : run_) = axes[0].size;
    axes.erase(axes.begin());
  }
  rows_ /= run_;
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) (a->summed ? summed_ : kept_).push_back({a->size, a->stride});
}

template <typename T>
void RepeatSum::RunAs(const T* from, T* to, int threads) const {
  if (terms_ == 0) {
    std::fill_n(to, rows_ * run_, T(0));
    return;
  }
  const int64_t blocks = (run_ + kBlock - 1) / kBlock, terms = terms_ / sum_run_;
  const int64_t work = std::min(run_, kBlock) * terms_;
  ParallelFor(threads, rows_ * blocks, std::max<int64_t>(1, (1 << 14) / work), [&](int64_t first, int64_t last) {
    std::array<double, kBlock> sum;
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = i / blocks, at = i % blocks * kBlock, n = std::min(kBlock, run_ - at);
      const T* x = from + OffsetOf(kept_, row) + at;
      std::fill_n(sum.begin(), n, 0.0);
      for (int64_t t = 0; t < terms; ++t) {
        const T* term = x + OffsetOf(summed_, t);
        if (sum_run_ > 1) {
          sum[0] += SumOf(term, sum_run_);
        } else {
          for (int64_t k = 0; k < n; ++k) sum[k] += static_cast<double>(term[k]);
        }
      }
      for (int64_t k = 0; k < n; ++k) to[row * run_ + at + k] = static_cast<T>(sum[k]);
    }
  });
}

template void RepeatSum::RunAs<float>(const float*, float*, int) const;
template void RepeatSum::RunAs<double>(const double*, double*, int) const;

}  // namespace ampc
