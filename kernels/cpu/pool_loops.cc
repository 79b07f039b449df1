#include "kernels/cpu/pool_loops.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/windows.h"
#include "kernels/halves.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// Blocks of channels of one result position.
constexpr int64_t kBlock = 64;
// Floats of a row that are reduced at once.
constexpr int64_t kSpan = 4096;
// Channels that a call for each window would take longer to begin than to reduce.
constexpr int64_t kNarrow = 32;
// Most lines of a window whose columns slide, and the least channels.
constexpr int64_t kMostLines = 32;
constexpr int64_t kSlidChannels = 8;
// Floats of a row of results that is rounded to halves.
constexpr int64_t kMostRounded = 1 << 14;

template <typename T>
void Reduce(const Pool& p, const simd::Window<T>& w, float factor, float* out, int64_t n) {
  p.max ? simd::WindowMax(w, out, n) : simd::WindowSum(w, factor, out, n);
}

// Of at most `most` columns of the operand each; none where a window alone is wider.
std::vector<WindowTile> Tiles(const Pool& p, int64_t most) {
  std::vector<WindowTile> tiles;
  for (int64_t i = 0; i < p.out_w(); ++i) {
    const Range& w = p.w[i];
    if (w.size() > most) return {};
    const bool empty = w.size() <= 0;
    if (tiles.empty() || (!empty && std::max(w.end, tiles.back().end) - std::min(w.begin, tiles.back().begin) > most))
      tiles.push_back({w.begin, w.end, {}});
    WindowTile& tile = tiles.back();
    if (!empty) {
      if (tile.begin >= tile.end) tile.begin = w.begin;
      tile.begin = std::min(tile.begin, w.begin);
      tile.end = std::max(tile.end, w.end);
    }
    WindowRun* last = tile.runs.empty() ? nullptr : &tile.runs.back();
    const int64_t step = i == 0 ? 0 : w.begin - p.w[i - 1].begin;
    const bool alike = last != nullptr && last->size == w.size() && p.w[i - 1].count == w.count &&
                       (last->last - last->first == 1 || last->step == step) && step >= 0;
    if (alike) {
      last->step = step;
      ++last->last;
    } else {
      tile.runs.push_back({i, i + 1, w.size(), 0});
    }
  }
  return tiles;
}

// Along a row of results, from `span`: the columns of the operand from `begin` on, `width` floats each.
void ReduceRun(const Pool& p, const WindowRun& run, const float* span, int64_t begin, int64_t width, float factor, float* out) {
  const float* from = span + (p.w[run.first].begin - begin) * width;
  float* to = out + run.first * width;
  const int64_t count = run.last - run.first;
  if (run.step == 1 || count == 1) return Reduce(p, simd::Window<float>{from, 1, run.size, 0, width}, factor, to, count * width);
  if (width > kNarrow) {
    for (int64_t i = 0; i < count; ++i)
      Reduce(p, simd::Window<float>{from + i * run.step * width, 1, run.size, 0, width}, factor, to + i * width, width);
    return;
  }
  float all[kSpan];  // windows that begin at every column, of which some are wanted
  Reduce(p, simd::Window<float>{from, 1, run.size, 0, width}, factor, all, ((count - 1) * run.step + 1) * width);
  for (int64_t i = 0; i < count; ++i) std::copy_n(all + i * run.step * width, width, to + i * width);
}

// One row of results: first the lines of the windows, then the columns in them. T: as simd::Window's.
template <typename T>
void ReduceRow(const Pool& p, const T* volume, const Range& dep, const Range& row, float* out) {
  const int64_t width = p.in_last ? p.channels : 1;
  float reduced[kSpan];
  for (const WindowTile& tile : p.tiles) {
    const bool lines = dep.size() > 0 && row.size() > 0 && tile.end > tile.begin;
    const T* first = lines ? volume + ((dep.begin * p.in_h + row.begin) * p.in_w + tile.begin) * width : nullptr;
    const float* span = reduced;
    if (std::is_same_v<T, float> && dep.size() * row.size() == 1) {
      span = reinterpret_cast<const float*>(first);
    } else if (lines) {
      Reduce(p, simd::Window<T>{first, dep.size(), row.size(), p.in_h * p.in_w * width, p.in_w * width}, 1.0f, reduced,
             (tile.end - tile.begin) * width);
    }
    for (const WindowRun& run : tile.runs) {
      if (!lines || run.size <= 0) {
        std::fill(out + run.first * width, out + run.last * width, p.nothing());
      } else {
        ReduceRun(p, run, span, tile.begin, width, p.factor(dep, row, p.w[run.first]), out);
      }
    }
  }
}

// One row of results where channels lie last, of at most kMostLines lines: each run of windows at once. T: as simd::Window's.
template <typename T>
void SlideRow(const Pool& p, const T* volume, const Range& dep, const Range& row, float* out) {
  const T* lines[kMostLines];
  for (const WindowRun& run : p.tiles[0].runs) {
    float* const to = out + run.first * p.channels;
    if (p.empty(dep, row, p.w[run.first])) {
      std::fill(to, out + run.last * p.channels, p.nothing());
      continue;
    }
    simd::WindowRow<T> w{lines, 0, run.size, run.step, run.last - run.first, p.channels};
    for (int64_t z = dep.begin; z < dep.end; ++z) {
      for (int64_t y = row.begin; y < row.end; ++y)
        lines[w.count++] = volume + ((z * p.in_h + y) * p.in_w + p.w[run.first].begin) * p.channels;
    }
    p.max ? simd::WindowRowMax(w, to) : simd::WindowRowSum(w, p.factor(dep, row, p.w[run.first]), to);
  }
}

// One row of results of a row-major channel: a line of the operand between its padding, so that all windows are alike.
void ReducePaddedRow(const Pool& p, const float* volume, const Range& dep, const Range& row, float* out) {
  const ops::Window& c = p.columns;
  const int64_t size = (p.out_w() - 1) * c.stride + 1, length = std::max(size + c.kernel - 1, c.before + p.in_w);
  if (dep.size() <= 0 || row.size() <= 0) {
    std::fill_n(out, p.out_w(), p.nothing());
    return;
  }
  const float padding = p.max ? -std::numeric_limits<float>::infinity() : 0.0f;
  float line[kSpan], all[kSpan];
  std::fill_n(line, c.before, padding);
  std::fill(line + c.before + p.in_w, line + length, padding);
  const float* from = volume + (dep.begin * p.in_h + row.begin) * p.in_w;
  Reduce(p, simd::Window<float>{from, dep.size(), row.size(), p.in_h * p.in_w, p.in_w}, 1.0f, line + c.before, p.in_w);
  float* const to = c.stride == 1 ? out : all;
  Reduce(p, simd::Window<float>{line, 1, c.kernel, 0, 1}, 1.0f, to, size);
  for (int64_t i = 0; c.stride > 1 && i < p.out_w(); ++i) out[i] = all[i * c.stride];
  for (const WindowTile& tile : p.tiles) {
    for (const WindowRun& run : tile.runs) {
      if (run.size <= 0) {
        std::fill(out + run.first, out + run.last, p.nothing());
      } else if (!p.max) {
        const float count = static_cast<float>(dep.count * row.count * p.w[run.first].count);
        for (int64_t i = run.first; i < run.last; ++i) out[i] /= count;
      }
    }
  }
}

void RunRows(const Pool& p, int threads, const void* x, DType from, void* out, DType stored) {
  const int64_t width = p.in_last ? p.channels : 1, volumes = p.in_last ? p.batch : p.batch * p.channels;
  const int64_t work = std::max<int64_t>(1, p.d[0].size() * p.h[0].size() * std::max(p.in_w, p.out_w()) * width);
  const int64_t reach = (p.out_w() - 1) * p.columns.stride + p.columns.kernel;
  const bool padded = !p.in_last && p.columns.kernel > 0 && std::max(reach, p.columns.before + p.in_w) <= kSpan;
  const auto reduce = padded ? &ReducePaddedRow : p.slides ? &SlideRow<float> : &ReduceRow<float>;
  const auto reduce_halves = p.slides ? &SlideRow<uint16_t> : &ReduceRow<uint16_t>;
  ParallelFor(threads, volumes * p.out_d() * p.out_h(), std::max<int64_t>(1, (1 << 13) / work), [&](int64_t first, int64_t last) {
    float room[kMostRounded];
    for (int64_t i = first; i < last; ++i) {
      const int64_t plane = i / p.out_h(), volume = plane / p.out_d() * p.in_d * p.in_h * p.in_w * width;
      const Range &dep = p.d[plane % p.out_d()], &row = p.h[i % p.out_h()];
      float* const to = RoomAt(out, stored, i * p.out_w() * width, room);
      if (from == DType::kF32) {
        reduce(p, static_cast<const float*>(x) + volume, dep, row, to);
      } else {
        reduce_halves(p, static_cast<const uint16_t*>(x) + volume, dep, row, to);
      }
      StoreFloats(to, stored, i * p.out_w() * width, p.out_w() * width, out);
    }
  });
}

// Up to kBlock neighbouring channels of one window, plane after plane. T: as simd::Window's.
template <typename T>
void ReduceBlock(const Pool& p, const T* at, const Range& dep, const Range& row, const Range& col, int64_t count, float* to) {
  float plane[kBlock];
  for (int64_t z = 0; z < dep.size(); ++z, at += p.in_h * p.in_w * p.channels) {
    float* const part = z == 0 ? to : plane;
    Reduce(p, simd::Window<T>{at, row.size(), col.size(), p.in_w * p.channels, p.channels}, p.factor(dep, row, col), part, count);
    for (int64_t k = 0; z > 0 && k < count; ++k) {
      if (p.max) {
        to[k] = plane[k] > to[k] || plane[k] != plane[k] ? plane[k] : to[k];
      } else {
        to[k] += plane[k];
      }
    }
  }
}

// A window after the other, where channels lie last.
void RunWindowsLast(const Pool& p, int threads, const void* x, DType from, void* out, DType stored) {
  const int64_t blocks = (p.channels + kBlock - 1) / kBlock;
  const int64_t positions = p.batch * p.out_d() * p.out_h() * p.out_w();
  const int64_t window = std::max<int64_t>(1, p.d[0].size() * p.h[0].size() * p.w[0].size());
  ParallelFor(threads, positions * blocks, std::max<int64_t>(1, (1 << 13) / (window * std::min(kBlock, p.channels))),
              [&](int64_t first, int64_t last) {
                for (int64_t i = first; i < last; ++i) {
                  const int64_t position = i / blocks, c = i % blocks * kBlock, plane = position / (p.out_h() * p.out_w());
                  const Range& dep = p.d[plane % p.out_d()];
                  const Range& row = p.h[position / p.out_w() % p.out_h()];
                  const Range& col = p.w[position % p.out_w()];
                  const int64_t count = std::min(kBlock, p.channels - c);
                  float room[kBlock];
                  float* const to = RoomAt(out, stored, position * p.channels + c, room);
                  if (p.empty(dep, row, col)) {
                    std::fill(to, to + count, p.nothing());
                  } else {
                    const int64_t at = ((plane / p.out_d() * p.in_d + dep.begin) * p.in_h + row.begin) * p.in_w + col.begin;
                    const auto reduce = [&](const auto* all) { ReduceBlock(p, all + at * p.channels + c, dep, row, col, count, to); };
                    from == DType::kF32 ? reduce(static_cast<const float*>(x)) : reduce(static_cast<const uint16_t*>(x));
                  }
                  StoreFloats(to, stored, position * p.channels + c, count, out);
                }
              });
}

// A window of a row-major channel.
float ReduceWindow(const Pool& p, const float* channel, const Range& dep, const Range& row, const Range& col) {
  const bool whole_rows = col.size() == p.in_w;
  const int64_t runs = whole_rows ? 1 : row.size(), length = whole_rows ? row.size() * p.in_w : col.size();
  float max = -std::numeric_limits<float>::infinity();
  double sum = 0;
  for (int64_t z = dep.begin; z < dep.end; ++z) {
    const float* at = channel + (z * p.in_h + row.begin) * p.in_w + col.begin;
    for (int64_t r = 0; r < runs; ++r, at += p.in_w) {
      if (!p.max) {
        sum += simd::SumRow(at, length);
        continue;
      }
      const float v = simd::MaxRow(at, length);
      max = v > max || v != v ? v : max;
    }
  }
  return p.max ? max : static_cast<float>(sum / (dep.count * row.count * col.count));
}

// A window after the other of each row-major channel.
void RunWindowsPlain(const Pool& p, int threads, const float* x, float* out) {
  const int64_t work = std::max<int64_t>(1, p.d[0].size() * p.h[0].size() * std::max(p.in_w, p.out_w()));
  ParallelFor(threads, p.batch * p.channels * p.out_d() * p.out_h(), std::max<int64_t>(1, (1 << 13) / work),
              [&](int64_t first, int64_t last) {
                for (int64_t i = first; i < last; ++i) {
                  const int64_t plane = i / p.out_h();
                  const float* channel = x + plane / p.out_d() * p.in_d * p.in_h * p.in_w;
                  const Range &dep = p.d[plane % p.out_d()], &row = p.h[i % p.out_h()];
                  float* to = out + i * p.out_w();
                  for (int64_t c = 0; c < p.out_w(); ++c)
                    to[c] = p.empty(dep, row, p.w[c]) ? p.nothing() : ReduceWindow(p, channel, dep, row, p.w[c]);
                }
              });
}

// Whether each column of a window is read for that window alone or kept in registers: few of them, of few lines, of whole vectors.
bool Slides(const Pool& p) {
  const auto widest = [](const Ranges& ranges) {
    return std::max_element(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.size() < b.size(); })->size();
  };
  const bool apart = p.columns.kernel > 0 && p.columns.kernel <= p.columns.stride;
  return p.in_last && p.channels >= kSlidChannels && widest(p.d) * widest(p.h) <= kMostLines && widest(p.w) <= (apart ? kMostLines : 3);
}

// Whether rows at once take fewer loads than each window by itself.
bool RowsPay(const Pool& p) {
  int64_t widest = 0, lines = 0, columns = 0;
  for (const Range& r : p.w) {
    widest = std::max(widest, r.size());
    columns += r.size();
  }
  for (const Range& r : p.h) lines = std::max(lines, r.size());
  if (p.in_d > 1 || p.out_d() > 1) return p.out_w() > 1;
  if (!p.in_last) return p.out_w() > 1 && widest <= 128;
  if (p.channels <= kNarrow && p.out_w() > 1) return true;
  return lines * p.in_w + columns < lines * columns || lines == 1;
}

}  // namespace

Ranges SlidingRanges(const ops::Window& w, int64_t in, int64_t out, bool exclusive) {
  Ranges ranges;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * w.stride - w.before;
    const int64_t padded_end = std::min(begin + w.kernel, in + w.after);
    const int64_t first = std::max<int64_t>(begin, 0), last = std::min(padded_end, in);
    if (first >= last) {
      ranges.push_back({0, 0, 1});
      continue;
    }
    ranges.push_back({first, last, static_cast<double>(exclusive ? last - first : padded_end - begin)});
  }
  return ranges;
}

Ranges AdaptiveRanges(int64_t in, int64_t out) {
  Ranges ranges;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    ranges.push_back({begin, end, static_cast<double>(end - begin)});
  }
  return ranges;
}

void PrepareRows(Pool* p) {
  p->slides = Slides(*p);
  if (p->slides) {
    p->tiles = Tiles(*p, p->in_w);
  } else if (RowsPay(*p)) {
    p->tiles = Tiles(*p, kSpan / (p->in_last ? p->channels : 1));
  }
}

void RunPool(const Pool& p, int threads, const void* x, DType from, void* out, DType stored, void* workspace) {
  const bool transposes = p.in_last != p.out_last;
  void* const to = transposes ? workspace : out;
  const float* floats = static_cast<const float*>(x);
  if (!p.tiles.empty() && (stored == DType::kF32 || p.out_w() * p.channels <= kMostRounded)) {
    RunRows(p, threads, x, from, to, stored);
  } else if (p.in_last) {
    RunWindowsLast(p, threads, x, from, to, stored);
  } else {
    RunWindowsPlain(p, threads, floats, static_cast<float*>(to));
  }
  if (!transposes) return;
  const int64_t spatial = p.out_d() * p.out_h() * p.out_w();
  Transpose2D(threads, p.batch, p.in_last ? spatial : p.channels, p.in_last ? p.channels : spatial, static_cast<float*>(to),
              static_cast<float*>(out));
}

}  // namespace ampc
