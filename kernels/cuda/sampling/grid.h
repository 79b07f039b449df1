// Sampling at positions, and its gradients. Every tensor has the type `type`, a float; halves are computed in f32.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/grid_sample.h"

namespace ampc::cuda {

int LaunchGridSample(void* stream, DType type, const GridSampler& s, const void* x, const void* grid, void* out);

// Of X: each corner of each point, numbered [image, point, corner], has a key and a weight in compute type: the element [image, plane]
// that it belongs to, images * plane where there is none.
inline int64_t GridCornersOf(const GridSampler& s) { return int64_t{1} << s.rank; }
int LaunchGridKeys(void* stream, DType type, const GridSampler& s, const void* grid, uint32_t* keys, void* weights);
// Adds, in the order of points, what corners with one key give; the keys are sorted, `order` numbers the corners. Other elements of the
// result stay as they are.
int LaunchGridSpread(void* stream, DType type, const GridSampler& s, const uint32_t* keys, const uint32_t* order, const void* weights,
                     const void* gradient, void* out);
// Of the positions.
int LaunchGridSlopes(void* stream, DType type, const GridSampler& s, const void* x, const void* grid, const void* gradient, void* out);

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
