#include "kernels/spec/reduce_spec.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/layout.h"

namespace ampc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

VectorNormKind KindOf(double order) {
  return order == kInf    ? VectorNormKind::kLargest
         : order == -kInf ? VectorNormKind::kSmallest
         : order == 0     ? VectorNormKind::kCount
         : order == 1     ? VectorNormKind::kOne
         : order == 2     ? VectorNormKind::kTwo
                          : VectorNormKind::kPower;
}

// In [0, rank); any number for rank 0.
absl::StatusOr<int64_t> AxisIn(const SpecView& view, int64_t axis, int64_t rank) {
  const int64_t from_start = FromEnd(axis, rank);
  if (rank > 0 && (from_start < 0 || from_start >= rank)) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
  return from_start;
}

absl::StatusOr<AxisSplit> SplitOf(const SpecView& view, const TensorDesc& x, int64_t axis, bool flat) {
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  if (flat || rank == 0) return AxisSplit{1, x.NumElements(), 1};
  AMPC_ASSIGN_OR_RETURN(const int64_t from_start, AxisIn(view, axis, rank));
  return SplitAt(x.dims, from_start);
}

}  // namespace

absl::StatusOr<std::vector<bool>> ReducedDims(const SpecView& view, const Dims& x, const std::vector<int64_t>& axes, bool all) {
  const int64_t rank = static_cast<int64_t>(x.size());
  std::vector<bool> reduce(rank, all || axes.empty());
  if (all) return reduce;
  for (int64_t a : axes) {
    AMPC_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(view, a, rank));
    if (rank > 0) reduce[axis] = true;
  }
  return reduce;
}

absl::StatusOr<std::vector<bool>> ReadReducedDims(const SpecView& view) {
  const Op& op = view.op();
  const Dims& x = view.InDesc("X").dims;
  if (absl::StartsWith(op.type(), "p_norm")) return ReducedDims(view, x, {op.GetInt("axis", -1)}, op.GetBool("asvector"));
  if (absl::StartsWith(op.type(), "logsumexp")) return ReducedDims(view, x, op.GetInts("axis"), op.GetBool("reduce_all"));
  std::vector<int64_t> dims = op.GetInts("dim");
  for (const char* slot : {"AxisTensor", "AxisTensorList"}) {
    if (view.In(slot) < 0) continue;
    dims.clear();
    for (int i = 0; i < view.NumIn(slot); ++i) {
      const auto value = view.Ints(slot, i);
      if (!value) return view.Unsupported(absl::StrCat(slot, " must be known before the run"));
      dims.insert(dims.end(), value->begin(), value->end());
    }
  }
  return ReducedDims(view, x, dims, op.type() == "mean" || op.type() == "mean_grad" || op.GetBool("reduce_all"));
}

absl::StatusOr<AxisSplit> ReadArgAxis(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(const AxisSplit s, SplitOf(view, view.InDesc("X"), view.op().GetInt("axis"), view.op().GetBool("flatten")));
  if (s.size == 0 && s.outer * s.inner > 0) return view.Unsupported("the largest of no elements has no position");
  return s;
}

absl::StatusOr<AxisSplit> ReadSoftmaxAxis(const SpecView& view, const TensorDesc& x) {
  AMPC_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(view, view.op().GetInt("axis", -1), static_cast<int64_t>(x.dims.size())));
  return SplitAt(DimsInMemory(x), AxisInMemory(x, axis));
}

absl::StatusOr<Cumulation> ReadCumulation(const SpecView& view, const TensorDesc& x) {
  const Op& op = view.op();
  Cumulation c;
  c.product = absl::StartsWith(op.type(), "cumprod");
  c.exclusive = !c.product && op.GetBool("exclusive");
  c.reverse = !c.product && op.GetBool("reverse");
  AMPC_ASSIGN_OR_RETURN(static_cast<AxisSplit&>(c),
                        SplitOf(view, x, op.GetInt(c.product ? "dim" : "axis", -1), !c.product && op.GetBool("flatten")));
  return c;
}

VectorNorm ReadVectorNorm(const Op& op) {
  if (absl::StartsWith(op.type(), "logsumexp")) return {VectorNormKind::kLogSumExp, 0};
  if (absl::StartsWith(op.type(), "frobenius_norm")) return {};
  const double order = op.GetFloat("porder", 2);
  return {KindOf(order), order};
}

}  // namespace ampc
