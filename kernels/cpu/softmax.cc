// softmax along any axis: the maximum, exp of what is left, its sum, the quotient.
#include <algorithm>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/halves.h"
#include "kernels/parallel.h"
#include "kernels/round.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 12;                 // elements of one thread
constexpr int64_t kColumns = simd::kReduceColumns;  // columns that are worked on together

// `columns` <= kColumns neighbours; the axis has `size` elements, `stride` apart.
void SoftmaxColumns(const float* x, float* out, int64_t size, int64_t stride, int64_t columns, DType type) {
  const simd::ReduceColumnsFn reduce_max = simd::ReduceColumns(simd::ReduceOp::kMax);
  const simd::ReduceColumnsFn reduce_sum = simd::ReduceColumns(simd::ReduceOp::kSum);
  float max[kColumns], part[kColumns], zero[kColumns] = {};
  double sum[kColumns] = {};
  for (int64_t i = 0; i < size; i += simd::kReduceRows) {
    reduce_max(x + i * stride, std::min(simd::kReduceRows, size - i), stride, columns, i == 0 ? max : part);
    if (i == 0) continue;
    for (int64_t c = 0; c < columns; ++c) max[c] = part[c] > max[c] || part[c] != part[c] ? part[c] : max[c];
  }
  for (int64_t i = 0; i < size; ++i) simd::ExpColumns(x + i * stride, max, out + i * stride, columns);
  for (int64_t i = 0; i < size; i += simd::kReduceRows) {
    reduce_sum(out + i * stride, std::min(simd::kReduceRows, size - i), stride, columns, part);
    for (int64_t c = 0; c < columns; ++c) sum[c] += part[c];
  }
  for (int64_t c = 0; c < columns; ++c) part[c] = static_cast<float>(1.0 / sum[c]);
  for (int64_t i = 0; i < size; ++i) {
    simd::AffineColumns(out + i * stride, zero, part, zero, out + i * stride, columns);
    RoundTo(type, out + i * stride, columns);
  }
}

constexpr int64_t kShort = 8;  // elements of a row with too few for vectors

// `rows` <= kColumns short rows in place: as columns, with a vector across them.
void ShortRows(float* x, int64_t rows, int64_t size) {
  float columns[kShort * kColumns], max[kColumns];
  double sum[kColumns] = {};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < size; ++i) columns[i * kColumns + r] = x[r * size + i];
  }
  std::copy_n(columns, rows, max);
  for (int64_t i = 1; i < size; ++i) {
    const float* at = columns + i * kColumns;
    for (int64_t r = 0; r < rows; ++r) max[r] = at[r] > max[r] || at[r] != at[r] ? at[r] : max[r];
  }
  for (int64_t i = 0; i < size; ++i) {
    float* at = columns + i * kColumns;
    simd::ExpColumns(at, max, at, rows);
    for (int64_t r = 0; r < rows; ++r) sum[r] += at[r];
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < size; ++i) x[r * size + i] = static_cast<float>(columns[i * kColumns + r] / sum[r]);
  }
}

constexpr int64_t kMostWidened = 1 << 14;  // elements of a row that is widened by itself

// Rows [first, last) of floats in any storage; short ones are widened and rounded several at once.
void StoredRows(const void* x, DType from, void* out, DType to, int64_t first, int64_t last, int64_t size, DType type) {
  float tile[kMostWidened];
  const int64_t step = std::max<int64_t>(1, kHalfTile / size);
  for (int64_t r = first; r < last; r += step) {
    const int64_t at = r * size, n = std::min(step, last - r) * size;
    float* const room = RoomAt(out, to, at, tile);
    const float* const in = FloatsAt(x, from, at, n, room);
    if (size <= kShort) {
      if (in != room) std::copy_n(in, n, room);
      for (int64_t i = 0; i < n; i += kColumns * size) ShortRows(room + i, std::min(kColumns, (n - i) / size), size);
    } else {
      for (int64_t i = 0; i < n; i += size) simd::SoftmaxRow(in + i, room + i, size);
    }
    if (to == DType::kF32) RoundTo(type, room, n);
    StoreFloats(room, to, at, n, out);
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(const AxisSplit s, ReadSoftmaxAxis(view, spec.inputs[0]));
  const int64_t outer = s.outer, size = s.size, inner = s.inner;
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  traits.in_place_input = 0;
  traits.rounds_results = true;  // while a row is in the first-level cache
  const DType type = spec.outputs[0].dtype;
  if (outer * inner * size == 0) return MakeLambdaKernel(traits, [](const KernelArgs&) { return absl::OkStatus(); });
  const bool rows = inner == 1 && (size <= kMostWidened || !HasHalves(spec));
  if (HasHalves(spec) && !rows) {
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, Make(InFloats(spec)));
    return MakeWidened(std::move(kernel), spec);
  }
  if (rows) {
    return MakeLambdaKernel(
        traits, [outer, size, type, from = spec.inputs[0].storage(), to = spec.outputs[0].storage()](const KernelArgs& args) {
          ParallelFor(args.threads, outer, std::max<int64_t>(1, kGrain / size),
                      [&](int64_t first, int64_t last) { StoredRows(args.inputs[0], from, args.outputs[0], to, first, last, size, type); });
          return absl::OkStatus();
        });
  }
  return MakeLambdaKernel(traits, [outer, size, inner, type](const KernelArgs& args) {
    const float* x = static_cast<const float*>(args.inputs[0]);
    float* out = static_cast<float*>(args.outputs[0]);
    const int64_t blocks = (inner + kColumns - 1) / kColumns;
    ParallelFor(args.threads, outer * blocks, std::max<int64_t>(1, kGrain / (size * kColumns)), [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        const int64_t column = b % blocks * kColumns;
        const int64_t at = b / blocks * size * inner + column;
        SoftmaxColumns(x + at, out + at, size, inner, std::min(kColumns, inner - column), type);
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterSoftmax(KernelRegistry* registry) {
  return registry->Add({"softmax", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kFollows, nullptr, HalfSupport::kEach});
}

}  // namespace ampc
