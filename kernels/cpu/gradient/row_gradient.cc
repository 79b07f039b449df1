#include "kernels/cpu/gradient/row_gradient.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/cpu/simd/gradient_rows.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using functors::Params;
using simd::Fixed;

constexpr int64_t kGrain = 1 << 14;
constexpr int64_t kColumns = simd::kReduceColumns;  // results of a unit
constexpr int64_t kChunk = 1 << 14;                 // elements of a chunk of one result
constexpr int64_t kChunkRows = 1 << 10;             // rows of a chunk of neighbours
constexpr int64_t kBuffer = 1 << 10;                // elements that are computed before they are added

template <typename T>
using RowFn = void (*)(const T* x, const T* y, const T* g, T* out, size_t n, Params<T> params);

template <class F, int sx, int sy, int sg>
void DoubleLoop(const double* x, const double* y, const double* g, double* out, size_t n, Params<double> params) {
  for (size_t i = 0; i < n; ++i) out[i] = F::Apply(functors::ScalarMath<double>{}, x[i * sx], y[i * sy], g[i * sg], params);
}

RowFn<double> Find(simd::RowGradient op, Fixed fixed, const double*) {
  struct Loops {
    RowFn<double> none, x, y, yg;
  };
#define AMPC_ENTRY(name)                                                                                             \
  {&DoubleLoop<functors::name, 1, 1, 1>, &DoubleLoop<functors::name, 0, 1, 1>, &DoubleLoop<functors::name, 1, 0, 1>, \
   &DoubleLoop<functors::name, 1, 0, 0>},
  static constexpr Loops kTable[] = {AMPC_BROADCAST_GRADIENTS(AMPC_ENTRY) AMPC_REDUCTION_GRADIENTS(AMPC_ENTRY)};
#undef AMPC_ENTRY
  const Loops& loops = kTable[static_cast<int>(op)];
  return fixed == Fixed::kNone ? loops.none : fixed == Fixed::kX ? loops.x : fixed == Fixed::kY ? loops.y : loops.yg;
}
RowFn<float> Find(simd::RowGradient op, Fixed fixed, const float*) { return simd::GradientOf(op, fixed); }

double Sum(const float* x, int64_t n) { return simd::SumRow(x, n); }
double Sum(const double* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// sum[c] += the rows of `x`, `stride` apart.
void AddRows(const float* x, int64_t rows, int64_t stride, int64_t columns, double* sum) {
  static const simd::ReduceColumnsFn add = simd::ReduceColumns(simd::ReduceOp::kSum);
  float part[kColumns];
  for (int64_t r = 0; r < rows; r += simd::kReduceRows) {
    add(x + r * stride, std::min(simd::kReduceRows, rows - r), stride, columns, part);
    for (int64_t c = 0; c < columns; ++c) sum[c] += part[c];
  }
}
void AddRows(const double* x, int64_t rows, int64_t stride, int64_t columns, double* sum) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) sum[c] += x[r * stride + c];
  }
}

}  // namespace

// The walks, for one type.
template <typename T>
struct RowGradient::Loop {
  const RowGradient& r;
  const T *x, *y, *g;
  T* out;
  Params<T> params;
  RowFn<T> row = Find(r.op_, r.fixed_, static_cast<const T*>(nullptr));
  int64_t ix = r.plan_.x_inner, iy = r.plan_.y_inner, ig = r.side_ == GradientSide::kReduction ? r.plan_.y_inner : 1;

  // n neighbours from `at` on, of which the first is the i-th of its row.
  void Compute(At at, int64_t i, int64_t n, T* to) const {
    row(x + at.x + i * ix, y + at.y + i * iy, g + at.g + i * ig, to, static_cast<size_t>(n), params);
  }

  void Whole(int threads) const {
    const int64_t inner = r.plan_.inner;
    if (r.plan_.rows == 1) {
      ParallelFor(threads, inner, kGrain, [&](int64_t first, int64_t last) { Row({}, first, last - first, out + first); });
      return;
    }
    ParallelFor(threads, r.plan_.rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, inner)), [&](int64_t first, int64_t last) {
      ForEachRow(r.plan_, first, last, [&](int64_t o, int64_t xo, int64_t yo) {
        Row({xo, yo, r.side_ == GradientSide::kReduction ? yo : o}, 0, inner, out + o);
      });
    });
  }

  void Row(At at, int64_t i, int64_t n, T* to) const {
    if (r.op_ != simd::RowGradient::kFirstGrad) return Compute(at, i, n, to);
    if (to != g + at.g + i) std::memcpy(to, g + at.g + i, static_cast<size_t>(n) * sizeof(T));
  }

  // The sum of n neighbours.
  double SumOf(At at, int64_t i, int64_t n) const {
    if (r.op_ == simd::RowGradient::kFirstGrad) return Sum(g + at.g + i, n);
    if constexpr (std::is_same_v<T, float>) {
      if (r.op_ == simd::RowGradient::kMulGradX) return simd::SumProducts(y + at.y + i, 0, g + at.g + i, nullptr, n).gx;
      if (r.op_ == simd::RowGradient::kMulGradY) return simd::SumProducts(x + at.x + i, 0, g + at.g + i, nullptr, n).gx;
    }
    T buffer[kBuffer];
    double sum = 0;
    for (int64_t k = 0; k < n; k += kBuffer) {
      const int64_t part = std::min(kBuffer, n - k);
      Compute(at, i + k, part, buffer);
      sum += Sum(buffer, part);
    }
    return sum;
  }

  double ChunkOfOne(At kept, int64_t chunk) const {
    const int64_t block = chunk % r.inner_blocks_, first = chunk / r.inner_blocks_ * r.chunk_rows_;
    const int64_t last = std::min(r.reduced_.count, first + r.chunk_rows_);
    const int64_t i = block * kChunk, n = std::min(kChunk, r.plan_.inner - i);
    double sum = 0;
    for (int64_t k = first; k < last; ++k) {
      const At at = OffsetIn(r.reduced_, k);
      sum += SumOf({kept.x + at.x, kept.y + at.y, kept.g + at.g}, i, n);
    }
    return sum;
  }

  void ChunkOfColumns(At kept, int64_t column, int64_t columns, int64_t chunk, double* sum) const {
    std::fill(sum, sum + columns, 0.0);
    const int64_t first = chunk * r.chunk_rows_, last = std::min(r.reduced_.count, first + r.chunk_rows_);
    if (r.op_ == simd::RowGradient::kFirstGrad && r.reduced_.size.size() == 1) {
      const int64_t stride = r.reduced_.g[0];
      return AddRows(g + kept.g + first * stride + column, last - first, stride, columns, sum);
    }
    if constexpr (std::is_same_v<T, float>) {
      if (AddProducts(kept, column, columns, first, last, sum)) return;
    }
    T buffer[kBuffer];
    const int64_t rows = kBuffer / kColumns;
    for (int64_t k = first; k < last; k += rows) {
      const int64_t part = std::min(rows, last - k);
      for (int64_t j = 0; j < part; ++j) {
        const At at = OffsetIn(r.reduced_, k + j);
        Compute({kept.x + at.x, kept.y + at.y, kept.g + at.g}, column, columns, buffer + j * columns);
      }
      AddRows(buffer, part, columns, columns, sum);
    }
  }

  // The sum of products with an operand that lies as g does; false where there is none.
  bool AddProducts(At kept, int64_t column, int64_t columns, int64_t first, int64_t last, double* sum) const {
    const bool with_y = r.op_ == simd::RowGradient::kMulGradX;
    if (!with_y && r.op_ != simd::RowGradient::kMulGradY) return false;
    if (r.reduced_.size.size() != 1 || (with_y ? iy : ix) != 1) return false;
    const int64_t stride = r.reduced_.g[0];
    if ((with_y ? r.reduced_.y[0] : r.reduced_.x[0]) != stride) return false;
    const float* other = (with_y ? y + kept.y : x + kept.x) + first * stride + column;
    const float* from = g + kept.g + first * stride + column;
    float sum_g[kColumns], product[kColumns];
    for (int64_t k = 0; k < last - first; k += simd::kProductRows) {
      const int64_t rows = std::min(simd::kProductRows, last - first - k);
      simd::SumColumnProducts(other + k * stride, nullptr, from + k * stride, rows, stride, sum_g, product, columns);
      for (int64_t c = 0; c < columns; ++c) sum[c] += product[c];
    }
    return true;
  }

  void Reduced(int threads, double* parts) const {
    const int64_t chunks = r.chunks_, per_row = r.units_per_row_, units = r.kept_.count * per_row;
    const int64_t width = r.columns_ ? std::min(kColumns, r.plan_.inner) : 1;
    const auto columns_of = [&](int64_t unit) { return r.columns_ ? std::min(width, r.plan_.inner - unit % per_row * width) : 1; };
    const int64_t cost =
        std::max<int64_t>(1, std::min(r.chunk_rows_, r.reduced_.count) * (r.columns_ ? width : std::min(kChunk, r.plan_.inner)));
    ParallelFor(threads, units * chunks, std::max<int64_t>(1, kGrain / cost), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t unit = i / chunks, chunk = i % chunks;
        const At kept = OffsetIn(r.kept_, unit / per_row);
        if (r.columns_) {
          ChunkOfColumns(kept, unit % per_row * width, columns_of(unit), chunk, parts + i * width);
        } else {
          parts[i] = ChunkOfOne(kept, chunk);
        }
      }
    });
    for (int64_t unit = 0; unit < units; ++unit) {
      T* to = out + unit / per_row * (r.columns_ ? r.plan_.inner : 1) + unit % per_row * width;
      for (int64_t c = 0; c < columns_of(unit); ++c) {
        double sum = 0;
        for (int64_t k = 0; k < chunks; ++k) sum += parts[(unit * chunks + k) * width + c];
        to[c] = static_cast<T>(sum);
      }
    }
  }
};

RowGradient::RowGradient(BroadcastPlan plan, GradientSide side, simd::RowGradient op, Params<double> params, DType storage)
    : plan_(std::move(plan)), side_(side), op_(op), params_(params), storage_(storage) {
  const bool reduction = side == GradientSide::kReduction, second = side == GradientSide::kY;
  fixed_ = plan_.x_inner == 0 ? Fixed::kX : plan_.y_inner != 0 ? Fixed::kNone : reduction ? Fixed::kYG : Fixed::kY;
  int64_t dense = plan_.inner;
  std::vector<int64_t> g_stride(plan_.outer.size());
  for (size_t d = plan_.outer.size(); d-- > 0; dense *= plan_.outer[d]) g_stride[d] = dense;
  for (size_t d = 0; d < plan_.outer.size(); ++d) {
    Axes& axes = (second ? plan_.y_stride : plan_.x_stride)[d] == 0 ? reduced_ : kept_;
    axes.size.push_back(plan_.outer[d]);
    axes.x.push_back(plan_.x_stride[d]);
    axes.y.push_back(plan_.y_stride[d]);
    axes.g.push_back(reduction ? plan_.y_stride[d] : g_stride[d]);
    axes.count *= plan_.outer[d];
  }
  columns_ = (second ? plan_.y_inner : plan_.x_inner) == 1;
  reduces_ = !columns_ || !reduced_.size.empty();
  if (!reduces_) return;
  if (columns_) {
    units_per_row_ = (plan_.inner + kColumns - 1) / kColumns;
    chunk_rows_ = kChunkRows;
  } else {
    inner_blocks_ = std::max<int64_t>(1, (plan_.inner + kChunk - 1) / kChunk);
    chunk_rows_ = inner_blocks_ > 1 ? 1 : std::max<int64_t>(1, kChunk / std::max<int64_t>(1, plan_.inner));
  }
  chunks_ = (reduced_.count + chunk_rows_ - 1) / chunk_rows_ * inner_blocks_;
}

RowGradient::At RowGradient::OffsetIn(const Axes& axes, int64_t i) {
  At at;
  for (size_t d = axes.size.size(); d-- > 0;) {
    const int64_t k = d == 0 ? i : i % axes.size[d];
    at.x += k * axes.x[d];
    at.y += k * axes.y[d];
    at.g += k * axes.g[d];
    i /= axes.size[d];
  }
  return at;
}

int64_t RowGradient::workspace_bytes() const {
  if (!reduces_) return 0;
  const int64_t width = columns_ ? std::min(kColumns, plan_.inner) : 1;
  return kept_.count * units_per_row_ * chunks_ * width * static_cast<int64_t>(sizeof(double));
}

void RowGradient::Run(int threads, Operands in, void* out, void* workspace) const {
  const auto run = [&](auto zero, auto params) {
    using T = decltype(zero);
    const Loop<T> loop{*this, static_cast<const T*>(in.x), static_cast<const T*>(in.y), static_cast<const T*>(in.g), static_cast<T*>(out),
                       params};
    reduces_ ? loop.Reduced(threads, static_cast<double*>(workspace)) : loop.Whole(threads);
  };
  if (storage_ == DType::kF64) return run(0.0, params_);
  run(0.0f, Params<float>{static_cast<float>(params_.a), static_cast<float>(params_.b), static_cast<float>(params_.c)});
}

}  // namespace ampc
