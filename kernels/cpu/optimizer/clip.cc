// squared_l2_norm, also of several tensors, and clip_by_norm.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/optimizer/squares.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// The sum over all elements; `parts` has room for NumBlocks(n).
template <typename T>
double SumOfSquares(const void* x, int64_t n, int threads, void* parts) {
  double* sums = static_cast<double*>(parts);
  const int64_t blocks = NumBlocks(n);
  ParallelFor(threads, blocks, 4, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      sums[b] = Squares(static_cast<const T*>(x) + b * kNormBlock, std::min(kNormBlock, n - b * kNormBlock));
    }
  });
  return Total(sums, blocks);
}

// Result i of operand i, for one of them or many.
template <typename T>
void SquaredNorms(const KernelArgs& args, const std::vector<int64_t>& elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    *static_cast<T*>(args.outputs[i]) = static_cast<T>(SumOfSquares<T>(args.inputs[i], elements[i], args.threads, args.workspace));
  }
}

template <typename T>
void ClipByNorm(const KernelArgs& args, int64_t n, double most) {
  const T norm = static_cast<T>(std::sqrt(SumOfSquares<T>(args.inputs[0], n, args.threads, args.workspace)));
  const T limit = static_cast<T>(most);
  const T factor = norm <= limit ? T(1) : limit / norm;
  const T* x = static_cast<const T*>(args.inputs[0]);
  T* out = static_cast<T*>(args.outputs[0]);
  ParallelFor(args.threads, n, kNormBlock, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) out[i] = x[i] * factor;
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSquaredNorms(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.inputs[0].dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(storage, {DType::kF32, DType::kF64}));
  KernelTraits traits;
  std::vector<int64_t> elements;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (StorageType(spec.inputs[i].dtype) != storage) return view.Unsupported("runs only on operands of one storage type");
    if (StorageType(spec.outputs[i].dtype) != storage) return view.Unsupported("computes in the type of X only");
    elements.push_back(spec.inputs[i].NumElements());
    traits.workspace_bytes = std::max(traits.workspace_bytes, NumBlocks(elements.back()) * static_cast<int64_t>(sizeof(double)));
  }
  const auto run = storage == DType::kF64 ? &SquaredNorms<double> : &SquaredNorms<float>;
  return MakeLambdaKernel(traits, [run, elements = std::move(elements)](const KernelArgs& args) {
    run(args, elements);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeClipByNorm(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.inputs[0].dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(storage, {DType::kF32, DType::kF64}));
  const int64_t n = spec.inputs[0].NumElements();
  KernelTraits traits;
  traits.in_place_input = 0;
  traits.workspace_bytes = NumBlocks(n) * static_cast<int64_t>(sizeof(double));
  const auto run = storage == DType::kF64 ? &ClipByNorm<double> : &ClipByNorm<float>;
  return MakeLambdaKernel(traits, [run, n, most = spec.op->GetFloat("max_norm")](const KernelArgs& args) {
    run(args, n, most);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterGradientClip(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  for (const char* op : {"squared_l2_norm", "grouped_squared_l2_norm"}) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeSquaredNorms, types}));
  return registry->Add({"clip_by_norm", &MakeClipByNorm, types});
}

}  // namespace ampc
