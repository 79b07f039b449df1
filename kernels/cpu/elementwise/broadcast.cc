#include "kernels/cpu/elementwise/broadcast.h"

#include <algorithm>

namespace ampc {
namespace {

// `dims` in a shape of rank `rank`, from dimension `axis` on; nullopt when more than size-1 dimensions stand out.
std::optional<std::vector<int64_t>> Aligned(absl::Span<const int64_t> dims, int64_t rank, int64_t axis) {
  std::vector<int64_t> out(rank, 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t at = axis + static_cast<int64_t>(i);
    if (at >= 0 && at < rank) {
      out[at] = dims[i];
    } else if (dims[i] != 1) {
      return std::nullopt;
    }
  }
  return out;
}

struct Axis {
  int64_t size, x, y;  // element strides
};

// Strides of each dimension of the result, without dimensions of size 1, adjacent ones joined where both operands allow it.
std::vector<Axis> JoinedAxes(const std::vector<int64_t>& x, const std::vector<int64_t>& y, absl::Span<const int64_t> out) {
  std::vector<Axis> axes;  // innermost first
  int64_t x_size = 1, y_size = 1;
  for (int64_t d = static_cast<int64_t>(out.size()) - 1; d >= 0; --d) {
    const Axis axis{out[d], x[d] == 1 ? 0 : x_size, y[d] == 1 ? 0 : y_size};
    x_size *= x[d];
    y_size *= y[d];
    if (axis.size == 1) continue;
    if (!axes.empty()) {
      Axis& last = axes.back();
      if (axis.x == last.x * last.size && axis.y == last.y * last.size) {
        last.size *= axis.size;
        continue;
      }
    }
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace

std::optional<AlignedDims> AlignDims(absl::Span<const int64_t> x, absl::Span<const int64_t> y, int64_t axis,
                                     absl::Span<const int64_t> out) {
  const int64_t xr = static_cast<int64_t>(x.size()), yr = static_cast<int64_t>(y.size());
  const int64_t rank = std::max(xr, yr);
  if (static_cast<int64_t>(out.size()) != rank) return std::nullopt;
  if (axis < 0 || xr == yr) axis = rank - std::min(xr, yr);
  std::optional<std::vector<int64_t>> xa = Aligned(x, rank, xr < yr ? axis : 0);
  std::optional<std::vector<int64_t>> ya = Aligned(y, rank, xr < yr ? 0 : axis);
  if (!xa || !ya) return std::nullopt;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t want = (*xa)[d] == 1 ? (*ya)[d] : (*xa)[d];
    if (out[d] != want || ((*ya)[d] != 1 && (*ya)[d] != want)) return std::nullopt;
  }
  return AlignedDims{*std::move(xa), *std::move(ya)};
}

std::optional<BroadcastPlan> PlanBroadcast(absl::Span<const int64_t> x, absl::Span<const int64_t> y, int64_t axis,
                                           absl::Span<const int64_t> out) {
  const std::optional<AlignedDims> aligned = AlignDims(x, y, axis, out);
  if (!aligned) return std::nullopt;
  BroadcastPlan plan;
  const std::vector<Axis> axes = JoinedAxes(aligned->x, aligned->y, out);
  if (axes.empty()) return plan;
  plan.inner = axes[0].size;
  plan.x_inner = axes[0].x == 0 ? 0 : 1;
  plan.y_inner = axes[0].y == 0 ? 0 : 1;
  for (size_t i = axes.size() - 1; i > 0; --i) {
    plan.outer.push_back(axes[i].size);
    plan.x_stride.push_back(axes[i].x);
    plan.y_stride.push_back(axes[i].y);
    plan.rows *= axes[i].size;
  }
  return plan;
}

}  // namespace ampc
