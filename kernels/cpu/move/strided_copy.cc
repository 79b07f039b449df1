#include "kernels/cpu/move/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "kernels/parallel.h"
#include "kernels/spec/move/strided_axes.h"

namespace ampc {
namespace {

constexpr int64_t kGrainBytes = 1 << 17;
constexpr int64_t kTile = 16;  // side of a block that is transposed through the first-level cache

struct Bytes16 {
  uint64_t a, b;
};

template <typename T>
inline void CopyOne(const char* from, char* to) {
  std::memcpy(to, from, sizeof(T));
}

}  // namespace

StridedCopy::StridedCopy(absl::Span<const int64_t> dims, absl::Span<const int64_t> from, absl::Span<const int64_t> to, int64_t size)
    : unit_(size), rows_(1) {
  const std::vector<StridedAxis> axes = JoinAxes(dims, from, to);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {  // innermost first
    if (axis->size == 0) {
      *this = StridedCopy();
      return;
    }
    outer_.push_back({axis->size, axis->from * size, axis->to * size});
  }
  if (!outer_.empty() && outer_[0].from == size && outer_[0].to == size) {
    unit_ = size * outer_[0].size;
    outer_.erase(outer_.begin());
  }
  inner_ = {1, 0, 0};
  if (!outer_.empty()) {
    inner_ = outer_[0];
    outer_.erase(outer_.begin());
  }
  std::reverse(outer_.begin(), outer_.end());
  ChooseTranspose();
  for (const Axis& axis : outer_) rows_ *= axis.size;
}

// Lines that are dense in the destination only would read a cache line per element.
void StridedCopy::ChooseTranspose() {
  const bool scalar = unit_ == 1 || unit_ == 2 || unit_ == 4 || unit_ == 8;
  if (!scalar || inner_.to != unit_ || inner_.size < 2) return;
  for (size_t i = 0; i < outer_.size(); ++i) {
    if (outer_[i].from != unit_) continue;
    across_ = outer_[i];
    outer_.erase(outer_.begin() + static_cast<int64_t>(i));
    return;
  }
}

template <typename F>
void StridedCopy::ForEachOuter(int64_t first, int64_t last, F&& f) const {
  const int rank = static_cast<int>(outer_.size());
  absl::InlinedVector<int64_t, 6> at(rank, 0);
  int64_t from = 0, to = 0;
  for (int64_t rest = first, d = rank - 1; d >= 0; --d) {
    at[d] = rest % outer_[d].size;
    rest /= outer_[d].size;
    from += at[d] * outer_[d].from;
    to += at[d] * outer_[d].to;
  }
  for (int64_t r = first; r < last; ++r) {
    f(from, to);
    for (int d = rank - 1; d >= 0; --d) {
      from += outer_[d].from;
      to += outer_[d].to;
      if (++at[d] < outer_[d].size) break;
      from -= at[d] * outer_[d].from;
      to -= at[d] * outer_[d].to;
      at[d] = 0;
    }
  }
}

void StridedCopy::Run(const void* from, void* to, int threads) const {
  if (unit_ == 0) return;
  if (across_.size > 0) {
    RunTransposed(static_cast<const char*>(from), static_cast<char*>(to), threads);
  } else if (inner_.size == 1 && outer_.empty()) {
    RunWhole(from, to, threads);
  } else {
    RunLines(static_cast<const char*>(from), static_cast<char*>(to), threads);
  }
}

void StridedCopy::RunWhole(const void* from, void* to, int threads) const {
  ParallelFor(threads, unit_, 4 * kGrainBytes, [&](int64_t first, int64_t last) {
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
  });
}

namespace {

template <typename T, typename Axis>
void Line(const char* from, char* to, const Axis& axis, int64_t) {
  constexpr int64_t kSize = sizeof(T);
  if (axis.to == kSize && axis.from == 0) {  // repeat
    T value;
    std::memcpy(&value, from, kSize);
    for (int64_t i = 0; i < axis.size; ++i) std::memcpy(to + i * kSize, &value, kSize);
  } else {
    for (int64_t i = 0; i < axis.size; ++i) CopyOne<T>(from + i * axis.from, to + i * axis.to);
  }
}

template <typename Axis>
void LongLine(const char* from, char* to, const Axis& axis, int64_t unit) {
  for (int64_t i = 0; i < axis.size; ++i) std::memcpy(to + i * axis.to, from + i * axis.from, unit);
}

template <typename Axis>
auto LineFor(int64_t unit) -> void (*)(const char*, char*, const Axis&, int64_t) {
  switch (unit) {
    case 1: return &Line<uint8_t, Axis>;
    case 2: return &Line<uint16_t, Axis>;
    case 4: return &Line<uint32_t, Axis>;
    case 8: return &Line<uint64_t, Axis>;
    case 16: return &Line<Bytes16, Axis>;
    default: return &LongLine<Axis>;
  }
}

// Elements [first, last) of `across` (dense in the source) by all of `along` (dense in the destination).
template <typename T, typename Axis>
void Block(const char* from, char* to, const Axis& across, const Axis& along, int64_t first, int64_t last) {
  for (int64_t i = 0; i < along.size; i += kTile) {
    const int64_t end = std::min(along.size, i + kTile);
    for (int64_t c = first; c < last; ++c) {
      const char* in = from + c * static_cast<int64_t>(sizeof(T));
      char* out = to + c * across.to;
      if (end - i == kTile) {
        for (int64_t k = i; k < i + kTile; ++k) CopyOne<T>(in + k * along.from, out + k * static_cast<int64_t>(sizeof(T)));
      } else {
        for (int64_t k = i; k < end; ++k) CopyOne<T>(in + k * along.from, out + k * static_cast<int64_t>(sizeof(T)));
      }
    }
  }
}

template <typename Axis>
auto BlockFor(int64_t unit) -> void (*)(const char*, char*, const Axis&, const Axis&, int64_t, int64_t) {
  switch (unit) {
    case 1: return &Block<uint8_t, Axis>;
    case 2: return &Block<uint16_t, Axis>;
    case 4: return &Block<uint32_t, Axis>;
    default: return &Block<uint64_t, Axis>;
  }
}

}  // namespace

void StridedCopy::RunLines(const char* from, char* to, int threads) const {
  const LineFn line = LineFor<Axis>(unit_);
  const int64_t line_bytes = unit_ * inner_.size;
  if (rows_ == 1) {
    ParallelFor(threads, inner_.size, std::max<int64_t>(1, kGrainBytes / unit_), [&](int64_t first, int64_t last) {
      line(from + first * inner_.from, to + first * inner_.to, {last - first, inner_.from, inner_.to}, unit_);
    });
    return;
  }
  ParallelFor(threads, rows_, std::max<int64_t>(1, kGrainBytes / line_bytes), [&](int64_t first, int64_t last) {
    ForEachOuter(first, last, [&](int64_t f, int64_t t) { line(from + f, to + t, inner_, unit_); });
  });
}

void StridedCopy::RunTransposed(const char* from, char* to, int threads) const {
  const BlockFn block = BlockFor<Axis>(unit_);
  const int64_t blocks = (across_.size + kTile - 1) / kTile;
  const int64_t block_bytes = kTile * inner_.size * unit_;
  // Whole rows of blocks first; a single large matrix is shared by its blocks.
  if (rows_ >= threads) {
    ParallelFor(threads, rows_, std::max<int64_t>(1, kGrainBytes / (block_bytes * blocks)), [&](int64_t first, int64_t last) {
      ForEachOuter(first, last, [&](int64_t f, int64_t t) {
        for (int64_t c = 0; c < across_.size; c += kTile) block(from + f, to + t, across_, inner_, c, std::min(across_.size, c + kTile));
      });
    });
    return;
  }
  ForEachOuter(0, rows_, [&](int64_t f, int64_t t) {
    ParallelFor(threads, blocks, std::max<int64_t>(1, kGrainBytes / block_bytes), [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) block(from + f, to + t, across_, inner_, b * kTile, std::min(across_.size, (b + 1) * kTile));
    });
  });
}

}  // namespace ampc
