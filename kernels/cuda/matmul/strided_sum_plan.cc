#include "kernels/cuda/matmul/strided_sum_plan.h"

#include "graph/base/error.h"

namespace ampc::cuda {
namespace {

// Puts `dim` behind the last one of its kind.
bool Append(const StridedDim& dim, StridedSumParams::Axis* axes, int* count) {
  if (*count > 0) {
    StridedSumParams::Axis& last = axes[*count - 1];
    if (last.in_stride == dim.in * dim.size && (dim.summed || last.out_stride == dim.out * dim.size)) {
      last = {last.size * dim.size, dim.in, dim.out};
      return true;
    }
  }
  if (*count == kMaxStridedAxes) return false;
  axes[(*count)++] = {dim.size, dim.in, dim.out};
  return true;
}

}  // namespace

absl::StatusOr<StridedSumParams> PlanStridedSum(absl::Span<const StridedDim> dims, DType in, DType out, double factor) {
  StridedSumParams p;
  p.in_type = in;
  p.out_type = out;
  p.factor = factor;
  for (const StridedDim& dim : dims) {
    (dim.summed ? p.terms : p.elements) *= dim.size;
    if (dim.size == 1) continue;
    if (!(dim.summed ? Append(dim, p.summed_axes, &p.summed) : Append(dim, p.kept_axes, &p.kept))) {
      return UnsupportedError("a sum over more than 8 strides has no device kernel");
    }
  }
  return p;
}

absl::StatusOr<StridedSumParams> PlanDenseSum(absl::Span<const int64_t> dims, const std::vector<bool>& summed, DType in, DType out,
                                              double factor) {
  std::vector<StridedDim> all(dims.size());
  int64_t stride = 1, kept = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    all[i] = {dims[i], stride, kept, summed[i]};
    stride *= dims[i];
    if (!summed[i]) kept *= dims[i];
  }
  return PlanStridedSum(all, in, out, factor);
}

absl::Status RunStridedSum(Stream& stream, StridedSumParams params, const void* in, void* out) {
  params.in = in;
  params.out = out;
  return stream.device().LaunchStatus(LaunchStridedSum(stream.native(), params), "cuda:strided_sum");
}

}  // namespace ampc::cuda
