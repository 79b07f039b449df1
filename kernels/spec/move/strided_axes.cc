#include "kernels/spec/move/strided_axes.h"

#include <algorithm>

namespace ampc {

std::vector<StridedAxis> JoinAxes(absl::Span<const int64_t> dims, absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  std::vector<StridedAxis> axes;
  for (size_t d = dims.size(); d-- > 0;) {  // innermost first
    if (dims[d] == 0) return {{0, 1, 1}};
    if (dims[d] == 1) continue;
    if (!axes.empty() && from[d] == axes.back().from * axes.back().size && to[d] == axes.back().to * axes.back().size) {
      axes.back().size *= dims[d];
    } else {
      axes.push_back({dims[d], from[d], to[d]});
    }
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

bool IsDense(absl::Span<const StridedAxis> axes) {
  return axes.empty() || (axes.size() == 1 && (axes[0].size == 0 || (axes[0].from == 1 && axes[0].to == 1)));
}

}  // namespace ampc
