// scatter and scatter_nd_add: slices written to, or added at, positions that an index tensor gives, one after the other.
#include <cstring>

#include "graph/base/dtype_switch.h"
#include "graph/base/status_macros.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/index/nd_index.h"
#include "kernels/parallel.h"
#include "kernels/spec/index/index_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrainBytes = 1 << 16;

template <typename T>
void AddRow(const void* from, void* to, int64_t n) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>) {
      out[i] = static_cast<T>(integer::Add(out[i], x[i]));
    } else {
      out[i] += x[i];
    }
  }
}

using AddFn = void (*)(const void* from, void* to, int64_t n);

AddFn AddFor(DType storage) {
  return Select<Numbers>(storage, [](auto tag) -> AddFn { return &AddRow<typename decltype(tag)::type>; });
}

// Copies X, then calls row(to, from) for the slices of `updates` in order; stretches of a slice go to different threads.
struct Scatterer {
  NdIndex index;
  int x = 0, updates = 0;  // flat operands
  int64_t bytes = 0, size = 1;
  AddFn add = nullptr;     // null: overwrite
  bool from_zero = false;  // the slices that are named start at 0

  absl::Status Run(const KernelArgs& args) const {
    AMPC_RETURN_IF_ERROR(index.Check(args));
    const int64_t n = index.row_elements(), row = n * size;
    char* out = static_cast<char*>(args.outputs[0]);
    const char* from = static_cast<const char*>(args.inputs[updates]);
    if (args.inputs[x] != out && bytes > 0) std::memcpy(out, args.inputs[x], static_cast<size_t>(bytes));
    if (from_zero && row > 0) {
      for (int64_t i = 0; i < index.rows(); ++i) std::memset(out + index.At(args, i) * row, 0, static_cast<size_t>(row));
    }
    ParallelFor(args.threads, n, kGrainBytes / size, [&](int64_t first, int64_t last) {
      for (int64_t i = 0; i < index.rows(); ++i) {
        char* to = out + index.At(args, i) * row + first * size;
        const char* part = from + i * row + first * size;
        if (add == nullptr) {
          std::memcpy(to, part, static_cast<size_t>((last - first) * size));
        } else {
          add(part, to, last - first);
        }
      }
    });
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(ScatterSpec read, ReadScatter(view));
  const TensorDesc& x = spec.inputs[read.x];
  Scatterer s{NdIndex(Describe(view.op()), std::move(read.index)), read.x, read.updates, x.StorageBytes(), ElementSize(x.dtype)};
  if (read.adds) s.add = AddFor(StorageType(x.dtype));
  s.from_zero = read.from_zero;
  KernelTraits traits;
  traits.implementation = read.adds ? "ampc:plain" : "ampc:copy";
  traits.rounds_results = !read.adds;
  traits.in_place_input = s.x;
  return MakeLambdaKernel(std::move(traits), [s = std::move(s)](const KernelArgs& args) { return s.Run(args); });
}

}  // namespace

absl::Status RegisterScatter(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"scatter", &Make, MovableTypes()}));
  return registry->Add({"scatter_nd_add", &Make, DeclaredTypes<Numbers>()});
}

}  // namespace ampc
