// Gradients of cumsum and cumprod: sums that run the other way. They accumulate in double and round once for each result.
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

struct Plan : Cumulation {
  int x = -1, out = -1, g = -1;  // flat operands; X and Out for products only
};

template <typename T>
struct Columns {
  const T *x, *out, *g;  // at the first of them
  T* dx;
  int64_t n;
};

// Element i of the result got every g[j] with j >= i, or j <= i where the sum ran backwards.
template <typename T>
void SumColumns(const Plan& p, const Columns<T>& c) {
  double sum[kColumns] = {};
  for (int64_t i = 0; i < p.size; ++i) {
    const int64_t at = (p.reverse ? i : p.size - 1 - i) * p.inner;
    for (int64_t k = 0; k < c.n; ++k) {
      const double before = sum[k];
      sum[k] += static_cast<double>(c.g[at + k]);
      c.dx[at + k] = static_cast<T>(p.exclusive ? before : sum[k]);
    }
  }
}

// The gradient of x[i] is the sum over j >= i of g[j] times the product of x[0..j] without x[i]: before the first 0 that is
// sum(g[j] out[j]) / x[i]; at it the sum over the products of the others; after it 0.
template <typename T>
void ProductColumn(const Plan& p, const Columns<T>& c, int64_t k) {
  const auto at = [&](int64_t i) { return i * p.inner + k; };
  int64_t zero = 0;
  double before = 1;
  while (zero < p.size && c.x[at(zero)] != 0) before *= static_cast<double>(c.x[at(zero++)]);
  double sum = 0;
  for (int64_t i = p.size - 1; i > zero; --i) c.dx[at(i)] = 0;
  if (zero < p.size) {
    double product = before;
    for (int64_t j = zero; j < p.size; ++j) {
      if (j > zero) product *= static_cast<double>(c.x[at(j)]);
      sum += static_cast<double>(c.g[at(j)]) * product;
    }
    c.dx[at(zero)] = static_cast<T>(sum);
  }
  sum = 0;
  for (int64_t i = zero - 1; i >= 0; --i) {
    sum += static_cast<double>(c.g[at(i)]) * static_cast<double>(c.out[at(i)]);
    c.dx[at(i)] = static_cast<T>(sum / static_cast<double>(c.x[at(i)]));
  }
}

template <typename T>
void Run(const Plan& p, const KernelArgs& args) {
  const auto in = [&args](int i, int64_t at) { return i < 0 ? nullptr : static_cast<const T*>(args.inputs[i]) + at; };
  const int64_t tiles = (p.inner + kColumns - 1) / kColumns;
  const int64_t cost = std::max<int64_t>(1, p.size * std::min(p.inner, kColumns));
  ParallelFor(args.threads, p.outer * tiles, std::max<int64_t>(1, kGrain / cost), [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      const int64_t column = t % tiles * kColumns, at = t / tiles * p.size * p.inner + column;
      const Columns<T> c{in(p.x, at), in(p.out, at), in(p.g, at), static_cast<T*>(args.outputs[0]) + at,
                         std::min(kColumns, p.inner - column)};
      if (!p.product) SumColumns(p, c);
      for (int64_t k = 0; p.product && k < c.n; ++k) ProductColumn(p, c, k);
    }
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  if (spec.outputs.empty()) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  const TensorDesc& to = spec.outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(to.dtype, {DType::kF32, DType::kF64}));
  if (StorageType(view.InDesc("Out@GRAD").dtype) != StorageType(to.dtype)) return view.Internal("the gradient of Out has another type");
  Plan p;
  AMPC_ASSIGN_OR_RETURN(static_cast<Cumulation&>(p), ReadCumulation(view, to));
  p.g = view.In("Out@GRAD");
  if (p.product) {
    p.x = view.In("X");
    p.out = view.In("Out");
  }
  KernelTraits traits;
  if (!p.product) traits.in_place_input = p.g;
  return MakeLambdaKernel(traits, [p, narrow = StorageType(to.dtype) == DType::kF32](const KernelArgs& args) {
    narrow ? Run<float>(p, args) : Run<double>(p, args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterCumulateGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"cumprod_grad", &Make, types}));
  return registry->Add({"cumsum_grad", &Make, types});
}

}  // namespace ampc
