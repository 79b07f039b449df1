// Pooling of floats over windows that were cut to the operand when the plan was made.
#pragma once

#include <cfloat>
#include <cstdint>
#include <vector>

#include "graph/base/dtype.h"
#include "graph/ops/window.h"

namespace ampc {

// The positions [begin, end) of a window along one axis, and how many a mean divides by.
struct Range {
  int64_t begin, end;
  double count;
  int64_t size() const { return end - begin; }
};
using Ranges = std::vector<Range>;

// A mean counts the positions inside the operand when it is exclusive, else those inside the padded one.
Ranges SlidingRanges(const ops::Window& w, int64_t in, int64_t out, bool exclusive);
Ranges AdaptiveRanges(int64_t in, int64_t out);

// Neighbouring windows along a row of results that are equally large, `step` columns apart, and divide by the same number.
struct WindowRun {
  int64_t first, last, size, step;
};
// Runs that are reduced along the other axes at once, and the columns [begin, end) of the operand that they cover.
struct WindowTile {
  int64_t begin, end;
  std::vector<WindowRun> runs;
};

struct Pool {
  int64_t batch, channels, in_d, in_h, in_w;
  Ranges d, h, w;             // one per result plane, row, column; an image is a volume of one plane
  ops::Window columns = {0};  // of w, where these are the positions of one window
  bool max = false;
  bool in_last = false, out_last = false;  // channels lie last
  std::vector<WindowTile> tiles = {};      // set by PrepareRows; empty: each window is reduced by itself
  bool slides = false;                     // too: a row of results is reduced from the operand at once, without tiles
  int64_t out_d() const { return static_cast<int64_t>(d.size()); }
  int64_t out_h() const { return static_cast<int64_t>(h.size()); }
  int64_t out_w() const { return static_cast<int64_t>(w.size()); }
  bool empty(const Range& z, const Range& r, const Range& c) const { return z.size() <= 0 || r.size() <= 0 || c.size() <= 0; }
  float factor(const Range& z, const Range& r, const Range& c) const { return static_cast<float>(1.0 / (z.count * r.count * c.count)); }
  // A window that lies in padding alone.
  float nothing() const { return max ? -FLT_MAX : 0.0f; }
};

// Cuts rows of results into tiles where that takes fewer loads. Everything else is set.
void PrepareRows(Pool* p);

// There is at least one result. `x` and `out` are stored as their types say: both f32, or, where channels lie last, bf16 too. `workspace`
// has room for the result where its order is another than the operand's. NaN wins over everything.
void RunPool(const Pool& p, int threads, const void* x, DType from, void* out, DType stored, void* workspace);

}  // namespace ampc
