// cumsum and cumprod: running sums and products along a dimension. Floats accumulate in double and round once for each result.
#include <algorithm>
#include <type_traits>

#include "graph/base/status_macros.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/parallel.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;
constexpr int64_t kColumns = 64;  // neighbours that are worked on together

template <typename Acc>
Acc Join(bool product, Acc a, Acc b) {
  if constexpr (std::is_integral_v<Acc>) return product ? integer::Mul(a, b) : integer::Add(a, b);
  return product ? a * b : a + b;
}

// `columns` <= kColumns neighbours; the dimension's elements are `inner` apart.
template <typename T>
void Columns(const Cumulation& p, const T* x, T* out, int64_t columns) {
  using Acc = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  Acc acc[kColumns];
  std::fill(acc, acc + columns, Acc(p.product ? 1 : 0));
  for (int64_t i = 0; i < p.size; ++i) {
    const int64_t at = (p.reverse ? p.size - 1 - i : i) * p.inner;
    for (int64_t c = 0; c < columns; ++c) {
      const Acc before = acc[c];
      acc[c] = Join(p.product, acc[c], static_cast<Acc>(x[at + c]));
      out[at + c] = static_cast<T>(p.exclusive ? before : acc[c]);
    }
  }
}

template <typename T>
void Run(const Cumulation& p, const KernelArgs& args) {
  const T* x = static_cast<const T*>(args.inputs[0]);
  T* out = static_cast<T*>(args.outputs[0]);
  const int64_t tiles = (p.inner + kColumns - 1) / kColumns;
  const int64_t cost = std::max<int64_t>(1, p.size * std::min(p.inner, kColumns));
  ParallelFor(args.threads, p.outer * tiles, std::max<int64_t>(1, kGrain / cost), [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      const int64_t column = t % tiles * kColumns, at = t / tiles * p.size * p.inner + column;
      Columns(p, x + at, out + at, std::min(kColumns, p.inner - column));
    }
  });
}

using RunFn = void (*)(const Cumulation& p, const KernelArgs& args);

RunFn FindRun(DType storage) {
  return Select<Numbers>(storage, [](auto tag) -> RunFn { return &Run<typename decltype(tag)::type>; });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType<Numbers>(spec.inputs[0].dtype));
  AMPC_ASSIGN_OR_RETURN(const Cumulation p, ReadCumulation(view, spec.inputs[0]));
  KernelTraits traits;
  traits.in_place_input = 0;
  return MakeLambdaKernel(traits, [p, run = FindRun(StorageType(spec.inputs[0].dtype))](const KernelArgs& args) {
    run(p, args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterCumulate(KernelRegistry* registry) {
  const std::vector<DType> types = DeclaredTypes<Numbers>();
  AMPC_RETURN_IF_ERROR(registry->Add({"cumsum", &Make, types}));
  return registry->Add({"cumprod", &Make, types});
}

}  // namespace ampc
