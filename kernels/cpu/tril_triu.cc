// tril_triu and its gradient: each row of each matrix is copied up to or from the diagonal, and zero elsewhere.
#include <algorithm>
#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements

// The gradient is cut as the operand is.
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const int gradient = view.In("Out@GRAD"), from = gradient < 0 ? view.In("X") : gradient;
  const TensorDesc& x = spec.inputs[from];
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  if (rank < 2) return view.Internal("the operand is no matrix");
  if (StorageType(x.dtype) != StorageType(spec.outputs[0].dtype)) return view.Internal("the result has another type than X");
  const int64_t rows = x.dims[rank - 2], columns = x.dims[rank - 1];
  const int64_t total = x.NumElements() == 0 ? 0 : x.NumElements() / columns;
  const int64_t diagonal = view.op().GetInt("diagonal"), size = static_cast<int64_t>(SizeOf(StorageType(x.dtype)));
  const bool lower = view.op().GetBool("lower");
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(traits, [=](const KernelArgs& args) {
    const char* in = static_cast<const char*>(args.inputs[from]);
    char* out = static_cast<char*>(args.outputs[0]);
    ParallelFor(args.threads, total, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns)), [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        // The kept columns are [0, end) of the lower part, [begin, columns) of the upper one.
        const int64_t at = r % rows + diagonal, edge = std::clamp<int64_t>(lower ? at + 1 : at, 0, columns);
        const int64_t begin = lower ? 0 : edge, end = lower ? edge : columns;
        char* row = out + r * columns * size;
        std::memset(row, 0, begin * size);
        std::memcpy(row + begin * size, in + (r * columns + begin) * size, (end - begin) * size);
        std::memset(row + end * size, 0, (columns - end) * size);
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterTrilTriu(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"tril_triu_grad", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  return registry->Add({"tril_triu", &Make, MovableTypes()});
}

}  // namespace ampc
