// argsort, top_k and top_k_v2: stable, NaN above every number. Results are in order whether that is asked for or not.
#include <algorithm>
#include <numeric>
#include <type_traits>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/axis_split.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/parallel.h"
#include "kernels/spec/index/sort_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 12;

struct Sorter : AxisSplit {
  int64_t kept = 1;  // along the axis of the results
};

template <typename T, bool descending>
bool Before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return descending ? a != a && b == b : a == a && b != b;
  }
  return descending ? a > b : a < b;
}

// One line of `size` elements, `inner` apart; `order` has room for all of them.
template <typename T, bool descending>
void SortLine(const T* x, const Sorter& s, int64_t* order, T* out, int64_t* indices) {
  std::iota(order, order + s.size, int64_t{0});
  const auto before = [x, inner = s.inner](int64_t a, int64_t b) {
    const T va = x[a * inner], vb = x[b * inner];
    if (Before<T, descending>(va, vb)) return true;
    return a < b && !Before<T, descending>(vb, va);
  };
  if (s.kept < s.size) {
    std::partial_sort(order, order + s.kept, order + s.size, before);
  } else {
    std::sort(order, order + s.size, before);
  }
  for (int64_t i = 0; i < s.kept; ++i) {
    out[i * s.inner] = x[order[i] * s.inner];
    indices[i * s.inner] = order[i];
  }
}

using RunFn = void (*)(const Sorter& s, const KernelArgs& args, int out, int indices);

// The workspace has one order per line.
template <typename T, bool descending>
void Run(const Sorter& s, const KernelArgs& args, int out, int indices) {
  const T* x = static_cast<const T*>(args.inputs[0]);
  ParallelFor(args.threads, s.outer * s.inner, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.size)),
              [&](int64_t first, int64_t last) {
                for (int64_t line = first; line < last; ++line) {
                  const int64_t o = line / s.inner, i = line % s.inner, at = o * s.kept * s.inner + i;
                  SortLine<T, descending>(x + o * s.size * s.inner + i, s, static_cast<int64_t*>(args.workspace) + line * s.size,
                                          static_cast<T*>(args.outputs[out]) + at, static_cast<int64_t*>(args.outputs[indices]) + at);
                }
              });
}

template <bool descending>
RunFn FindRun(DType storage) {
  return Select<Numbers>(storage, [](auto tag) -> RunFn { return &Run<typename decltype(tag)::type, descending>; });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const SortSpec read, ReadSort(view));
  const Sorter s{read.split, read.kept};
  const DType storage = StorageType(view.InDesc("X").dtype);
  KernelTraits traits;
  traits.rounds_results = true;
  traits.workspace_bytes = s.outer * s.size * s.inner * static_cast<int64_t>(sizeof(int64_t));
  const RunFn run = read.descending ? FindRun<true>(storage) : FindRun<false>(storage);
  return MakeLambdaKernel(std::move(traits), [s, run, values = view.Out("Out"), indices = view.Out("Indices")](const KernelArgs& args) {
    run(s, args, values, indices);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterSort(KernelRegistry* registry) {
  const std::vector<DType> types = DeclaredTypes<Numbers>();
  AMPC_RETURN_IF_ERROR(registry->Add({"argsort", &Make, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"top_k", &Make, types}));
  return registry->Add({"top_k_v2", &Make, types});
}

}  // namespace ampc
