// The gradient of reduce_prod: for each element the product of the others, exact where some are 0.
#include <algorithm>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;
constexpr int64_t kColumns = 64;  // neighbours that are worked on together

// Calls f(offset of a row of neighbours) for every row under kept index `kept`.
template <typename F>
void ForRows(const ReducePlan& plan, int64_t kept, int64_t column, F f) {
  const int64_t base = OffsetOf(kept, plan.kept, plan.kept_stride) + column;
  for (int64_t u = 0; u < plan.NumReduced(); ++u) {
    const int64_t unit = base + OffsetOf(u, plan.reduced, plan.reduced_stride);
    for (int64_t r = 0; r < plan.rows; ++r) f(unit + r * plan.columns);
  }
}

template <typename T>
void Tile(const ReducePlan& plan, int64_t kept, int64_t column, int64_t n, const T* x, const T* g, T* out) {
  double product[kColumns];  // of the elements that are not 0
  int64_t zeros[kColumns] = {};
  std::fill(product, product + n, 1.0);
  ForRows(plan, kept, column, [&](int64_t at) {
    for (int64_t c = 0; c < n; ++c) {
      zeros[c] += x[at + c] == 0;
      product[c] *= x[at + c] == 0 ? 1.0 : static_cast<double>(x[at + c]);
    }
  });
  for (int64_t c = 0; c < n; ++c) product[c] = zeros[c] > 1 ? 0 : product[c] * static_cast<double>(g[c]);
  ForRows(plan, kept, column, [&](int64_t at) {
    for (int64_t c = 0; c < n; ++c) {
      const double v = static_cast<double>(x[at + c]);
      out[at + c] = static_cast<T>(v == 0 ? product[c] : zeros[c] > 0 ? 0.0 : product[c] / v);
    }
  });
}

template <typename T>
void Run(const ReducePlan& plan, const T* x, const T* g, T* out, int threads) {
  const int64_t tiles = (plan.columns + kColumns - 1) / kColumns;
  const int64_t cost = std::max<int64_t>(1, plan.NumReduced() * plan.rows * std::min(plan.columns, kColumns));
  ParallelFor(threads, plan.NumKept() * tiles, std::max<int64_t>(1, kGrain / cost), [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      const int64_t kept = t / tiles, column = t % tiles * kColumns;
      Tile(plan, kept, column, std::min(kColumns, plan.columns - column), x, g + kept * plan.columns + column, out);
    }
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  if (spec.outputs.empty()) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  const TensorDesc& x = view.InDesc("X");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  if (StorageType(view.InDesc("Out@GRAD").dtype) != StorageType(x.dtype)) {
    return view.Unsupported("Out has another type than X, which its gradient cannot have");
  }
  AMPC_ASSIGN_OR_RETURN(const std::vector<bool> reduce, ReadReducedDims(view));
  KernelTraits traits;
  traits.in_place_input = view.In("X");
  const bool narrow = StorageType(x.dtype) == DType::kF32;
  return MakeLambdaKernel(
      traits, [=, plan = PlanReduce(x.dims, reduce), x_at = view.In("X"), g_at = view.In("Out@GRAD")](const KernelArgs& args) {
        const void *from = args.inputs[x_at], *g = args.inputs[g_at];
        void* out = args.outputs[0];
        if (narrow) {
          Run(plan, static_cast<const float*>(from), static_cast<const float*>(g), static_cast<float*>(out), args.threads);
        } else {
          Run(plan, static_cast<const double*>(from), static_cast<const double*>(g), static_cast<double*>(out), args.threads);
        }
        return absl::OkStatus();
      });
}

}  // namespace

absl::Status RegisterReduceProdGradient(KernelRegistry* registry) {
  return registry->Add({"reduce_prod_grad", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc
