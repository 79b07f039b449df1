// p_norm, frobenius_norm and logsumexp: reductions with a function before and after the sum, which is kept in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;
constexpr int64_t kColumns = 64;  // neighbours that are worked on together
constexpr double kInf = std::numeric_limits<double>::infinity();

using Kind = VectorNormKind;

double Larger(double a, double b) { return b > a || b != b ? b : a; }
double Smaller(double a, double b) { return b < a || b != b ? b : a; }

struct Norm : VectorNorm {
  ReducePlan plan;

  double Start() const { return kind == Kind::kSmallest ? kInf : 0; }

  double Add(double acc, double x) const {
    switch (kind) {
      case Kind::kCount: return acc + (x != 0);
      case Kind::kOne: return acc + std::abs(x);
      case Kind::kTwo: return acc + x * x;
      case Kind::kPower: return acc + std::pow(std::abs(x), order);
      case Kind::kLargest: return Larger(acc, std::abs(x));
      case Kind::kSmallest: return Smaller(acc, std::abs(x));
      case Kind::kLogSumExp: break;
    }
    return acc;
  }

  double Finish(double acc) const { return kind == Kind::kTwo ? std::sqrt(acc) : kind == Kind::kPower ? std::pow(acc, 1 / order) : acc; }

  // Calls f(x, columns-wide row) for every row under kept index `kept`.
  template <typename T, typename F>
  void ForRows(const T* x, int64_t kept, int64_t column, F f) const {
    const T* base = x + OffsetOf(kept, plan.kept, plan.kept_stride) + column;
    for (int64_t u = 0; u < plan.NumReduced(); ++u) {
      const T* unit = base + OffsetOf(u, plan.reduced, plan.reduced_stride);
      for (int64_t r = 0; r < plan.rows; ++r) f(unit + r * plan.columns);
    }
  }

  template <typename T>
  void LogSumExp(const T* x, int64_t kept, int64_t column, int64_t n, T* out) const {
    double max[kColumns], sum[kColumns] = {};
    std::fill(max, max + n, -kInf);
    ForRows(x, kept, column, [&](const T* row) {
      for (int64_t c = 0; c < n; ++c) max[c] = Larger(max[c], row[c]);
    });
    ForRows(x, kept, column, [&](const T* row) {
      for (int64_t c = 0; c < n; ++c) sum[c] += std::exp(static_cast<double>(row[c]) - max[c]);
    });
    // An infinite maximum is the result: inf - inf would be NaN.
    for (int64_t c = 0; c < n; ++c) out[c] = static_cast<T>(std::isfinite(max[c]) ? max[c] + std::log(sum[c]) : max[c]);
  }

  template <typename T>
  void Tile(const T* x, int64_t kept, int64_t column, int64_t n, T* out) const {
    if (kind == Kind::kLogSumExp) return LogSumExp(x, kept, column, n, out);
    double acc[kColumns];
    std::fill(acc, acc + n, Start());
    ForRows(x, kept, column, [&](const T* row) {
      for (int64_t c = 0; c < n; ++c) acc[c] = Add(acc[c], row[c]);
    });
    for (int64_t c = 0; c < n; ++c) out[c] = static_cast<T>(Finish(acc[c]));
  }

  template <typename T>
  void Run(const KernelArgs& args) const {
    const T* x = static_cast<const T*>(args.inputs[0]);
    T* out = static_cast<T*>(args.outputs[0]);
    const int64_t tiles = (plan.columns + kColumns - 1) / kColumns;
    const int64_t cost = std::max<int64_t>(1, plan.NumReduced() * plan.rows * std::min(plan.columns, kColumns));
    ParallelFor(args.threads, plan.NumKept() * tiles, std::max<int64_t>(1, kGrain / cost), [&](int64_t first, int64_t last) {
      for (int64_t t = first; t < last; ++t) {
        const int64_t kept = t / tiles, column = t % tiles * kColumns;
        Tile(x, kept, column, std::min(kColumns, plan.columns - column), out + kept * plan.columns + column);
      }
    });
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = spec.inputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  if (StorageType(spec.outputs[0].dtype) != StorageType(x.dtype)) return view.Unsupported("the result has another type than X");
  AMPC_ASSIGN_OR_RETURN(const std::vector<bool> reduce, ReadReducedDims(view));
  Norm norm{ReadVectorNorm(view.op()), PlanReduce(x.dims, reduce)};
  return MakeLambdaKernel({}, [norm, narrow = StorageType(x.dtype) == DType::kF32](const KernelArgs& args) {
    narrow ? norm.Run<float>(args) : norm.Run<double>(args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterVectorNorm(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"frobenius_norm", &Make, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"logsumexp", &Make, types}));
  return registry->Add({"p_norm", &Make, types});
}

}  // namespace ampc
