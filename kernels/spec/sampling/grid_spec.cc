#include "kernels/spec/sampling/grid_spec.h"

#include <string>

namespace ampc {

absl::StatusOr<GridSampler> ReadGridSampler(const SpecView& view) {
  const Dims &x = view.InDesc("X").dims, &grid = view.InDesc("Grid").dims;
  GridSampler s;
  s.rank = static_cast<int>(x.size()) - 2;
  s.images = x[0];
  s.channels = x[1];
  for (int k = 0; k < s.rank; ++k) {
    s.in[k] = x[x.size() - 1 - k];
    s.step[k] = s.plane;
    s.plane *= s.in[k];
    s.points *= grid[1 + k];
  }
  s.nearest = view.op().GetString("mode") == "nearest";
  s.align_corners = view.op().GetBool("align_corners", true);
  const std::string outside = view.op().GetString("padding_mode");
  s.outside = outside == "border" ? GridOutside::kBorder : outside == "reflection" ? GridOutside::kReflection : GridOutside::kZeros;
  if (s.plane == 0) return view.Unsupported("there is no position to sample");
  return s;
}

}  // namespace ampc
