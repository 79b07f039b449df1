#include "kernels/cuda/layout/convert_layout.h"

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

constexpr int64_t kTile = 32;

// A tile of a matrix through the team's memory, so that both sides are read and written along rows. Its rows are one longer than the
// tile: neighbours in a column then lie in different banks.
template <class T>
struct TransposeTile {
  const T* in;
  T* out;
  int64_t rows, cols, tiles_down, tiles_across;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t t) const {
    const int64_t across = t % tiles_across, down = t / tiles_across % tiles_down, image = t / tiles_across / tiles_down;
    const int64_t row = down * kTile, col = across * kTile;
    const T* from = in + image * rows * cols;
    T* to = out + image * rows * cols;
    T* tile = static_cast<T*>(team.shared());
    const TransposeTile& self = *this;
    team.For(kTile * kTile, [=](int64_t i) {
      const int64_t r = i / kTile, c = i % kTile;
      if (row + r < self.rows && col + c < self.cols) tile[r * (kTile + 1) + c] = from[(row + r) * self.cols + col + c];
    });
    team.For(kTile * kTile, [=](int64_t i) {
      const int64_t c = i / kTile, r = i % kTile;
      if (row + r < self.rows && col + c < self.cols) to[(col + c) * self.rows + row + r] = tile[r * (kTile + 1) + c];
    });
  }
};

}  // namespace

int LaunchTranspose(void* stream, const TransposeParams& p) {
  if (p.rows == 0 || p.cols == 0) return 0;
  return VisitWidth(p.width, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    TransposeTile<T> tile{static_cast<const T*>(p.in),  static_cast<T*>(p.out),      p.rows, p.cols,
                          (p.rows + kTile - 1) / kTile, (p.cols + kTile - 1) / kTile};
    return ForEachTeam(stream, p.batch * tile.tiles_down * tile.tiles_across, kTile * kTile, tile,
                       static_cast<int>(kTile * (kTile + 1) * sizeof(T)));
  });
}

}  // namespace ampc::cuda
