// Sampling at positions, and its gradients. `type` is that of X and what is made of it, a float; positions and their gradients have one of
// their own. Halves are computed in f32, f64 needs f64 on both sides.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/grid_sample.h"

namespace ampc::cuda {

struct GridPositions {
  DType type = DType::kF32;
  const void* at = nullptr;  // [images, points, rank]
};
int LaunchGridSample(void* stream, DType type, const GridSampler& s, const void* x, const GridPositions& grid, void* out);

// Of X: each corner of each point, numbered [image, point, corner], has a key and a weight in compute type: the element [image, plane]
// that it belongs to, images * plane where there is none.
inline int64_t GridCornersOf(const GridSampler& s) { return int64_t{1} << s.rank; }
int LaunchGridKeys(void* stream, DType type, const GridSampler& s, const GridPositions& grid, uint32_t* keys, void* weights);
// Adds, in the order of points, what corners with one key give; the keys are sorted, `order` numbers the corners. Other elements of the
// result stay as they are.
int LaunchGridSpread(void* stream, DType type, const GridSampler& s, const uint32_t* keys, const uint32_t* order, const void* weights,
                     const void* gradient, void* out);
// Of the positions.
int LaunchGridSlopes(void* stream, DType type, const GridSampler& s, const void* x, const GridPositions& grid, const void* gradient,
                     void* out);

// affine_grid: [images, points, rank] from matrices [images, rank, rank + 1]; sizes innermost first.
struct AffineGrid {
  DType type = DType::kF32;
  int rank = 2;
  int64_t images = 0, points = 1, size[3] = {1, 1, 1};
  bool align_corners = true;
};
int LaunchAffineGrid(void* stream, const AffineGrid& a, const void* theta, void* out);
int LaunchAffineGridGradient(void* stream, const AffineGrid& a, const void* gradient, void* out);

}  // namespace ampc::cuda
