#include "kernels/cuda/move/copy.h"

#include <cstring>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/move/offsets.h"

namespace ampc::cuda {
namespace {

// The lowest set bits, up to 16: what all of the numbers added so far are multiples of.
class Alignment {
 public:
  void Add(int64_t n) { bits_ |= static_cast<uint64_t>(n); }
  void Add(const void* p) { bits_ |= reinterpret_cast<uint64_t>(p); }
  int64_t unit() const { return static_cast<int64_t>(bits_ & (~bits_ + 1)); }

 private:
  uint64_t bits_ = 16;
};

// Read and written at once, where Alignment says so; values of 16 bytes need not be aligned to more than 8.
struct alignas(16) Aligned16 {
  uint64_t low, high;
};
template <class F>
int VisitUnit(int64_t bytes, F f) {
  if (bytes == sizeof(Aligned16)) return f(TypeTag<Aligned16>{});
  return bytes == 8   ? f(TypeTag<uint64_t>{})
         : bytes == 4 ? f(TypeTag<uint32_t>{})
         : bytes == 2 ? f(TypeTag<uint16_t>{})
                      : f(TypeTag<uint8_t>{});
}

// In units of T.
struct UnitCopy {
  int64_t count = 1;
  Offsets from, to;
};

template <class T>
int CopyUnits(void* stream, const UnitCopy& c, const T* from, T* to) {
  return ForEach(stream, c.count, [=] AMPC_DEVICE(int64_t i) {
    int64_t f = 0, t = 0;
    for (int d = c.from.rank - 1; d >= 0; --d) {
      const int64_t rest = c.from.size[d].Quotient(i), at = i - rest * c.from.size[d].divisor();
      f += at * c.from.stride[d];
      t += at * c.to.stride[d];
      i = rest;
    }
    to[t] = from[f];
  });
}

// Elements across lie dense in the source, elements along in the destination. Everything counts elements.
struct TileCopy {
  Offsets outer_from, outer_to;
  int64_t teams = 1, across = 0, across_to = 0, along = 0, along_from = 0, tiles_across = 0, tiles = 0;
};

// A team moves one tile. kPack elements, 2 at most, are read and written together.
template <class T, class Pack, int kTile, int kPad>
struct MoveTile {
  static constexpr int kPack = sizeof(Pack) / sizeof(T), kLine = kTile / kPack, kPitch = kTile + kPad;
  static constexpr int kSharedBytes = kTile * kPitch * static_cast<int>(sizeof(T));
  TileCopy c;
  const T* from;
  T* to;

  template <class TeamType>
  AMPC_DEVICE void operator()(TeamType& team, int64_t t) const {
    T* const tile = static_cast<T*>(team.shared());
    const int64_t outer = t / c.tiles, in_outer = t - outer * c.tiles;
    const int64_t first_along = in_outer / c.tiles_across * kTile, first_across = in_outer % c.tiles_across * kTile;
    const T* const source = from + c.outer_from.At(outer) + first_along * c.along_from + first_across;
    T* const target = to + c.outer_to.At(outer) + first_across * c.across_to + first_along;
    const int along = static_cast<int>(c.along - first_along < kTile ? c.along - first_along : kTile);
    const int across = static_cast<int>(c.across - first_across < kTile ? c.across - first_across : kTile);
    const int64_t along_from = c.along_from, across_to = c.across_to;
    team.For(kTile * kLine, [=](int64_t i) {
      const int k = static_cast<int>(i) / kLine, a = static_cast<int>(i) % kLine * kPack;
      if (k < along && a < across)
        *reinterpret_cast<Pack*>(tile + k * kPitch + a) = *reinterpret_cast<const Pack*>(source + k * along_from + a);
    });
    team.For(kTile * kLine, [=](int64_t i) {
      const int a = static_cast<int>(i) / kLine, k = static_cast<int>(i) % kLine * kPack;
      if (k >= along || a >= across) return;
      T values[kPack];
      for (int j = 0; j < kPack; ++j) values[j] = tile[(k + j) * kPitch + a];
      Pack pack;
      memcpy(&pack, values, sizeof(pack));
      *reinterpret_cast<Pack*>(target + a * across_to + k) = pack;
    });
  }
};

template <class T, class Pack, int kTile, int kPad>
int MoveTiles(void* stream, TileCopy c, const T* from, T* to) {
  c.tiles_across = (c.across + kTile - 1) / kTile;
  c.tiles = c.tiles_across * ((c.along + kTile - 1) / kTile);
  const MoveTile<T, Pack, kTile, kPad> move{c, from, to};
  return ForEachTeam(stream, c.teams * c.tiles, kTile * move.kLine / 2, move, move.kSharedBytes);
}

bool Even(const Offsets& o) {
  for (int d = 0; d < o.rank; ++d) {
    if (o.stride[d] % 2 != 0) return false;
  }
  return true;
}

int MoveTilesOf(void* stream, const TileCopy& c, int64_t size, const void* from, void* to) {
  if (size == 2) {
    const auto* f = static_cast<const uint16_t*>(from);
    auto* const t = static_cast<uint16_t*>(to);
    Alignment both;
    both.Add(from);
    both.Add(to);
    const bool even = (c.across | c.along | c.across_to | c.along_from) % 2 == 0 && Even(c.outer_from) && Even(c.outer_to);
    return even && both.unit() >= 4 ? MoveTiles<uint16_t, uint32_t, 64, 2>(stream, c, f, t)
                                    : MoveTiles<uint16_t, uint16_t, 64, 2>(stream, c, f, t);
  }
  if (size == 1) return MoveTiles<uint8_t, uint8_t, 64, 4>(stream, c, static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to));
  return VisitWidth(size, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return MoveTiles<T, T, 32, 1>(stream, c, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

constexpr int64_t kLeastSide = 8;  // of a matrix for which a tile pays

// The axis that lies dense in the source where the innermost lies dense in the destination; -1 for none.
int AxisAcross(const CopyParams& p) {
  const bool scalar = p.run == 1 || p.run == 2 || p.run == 4 || p.run == 8 || p.run == 16;
  if (!scalar || p.rank < 2 || p.axes[p.rank - 1].to != p.run || p.axes[p.rank - 1].size < kLeastSide) return -1;
  for (int d = 0; d + 1 < p.rank; ++d) {
    if (p.axes[d].from == p.run && p.axes[d].size >= kLeastSide) return d;
  }
  return -1;
}

struct Entry {
  const char* from;
  char* to;
  int64_t first;  // units in the entries before it
  Divider width;  // units of a row
  int64_t from_row, to_row;
};

struct RowsTable {
  int count = 0;
  Entry entries[kMaxRowsParts];
};

template <class T>
int CopyRows(void* stream, const RowsTable& table, int64_t units) {
  return ForEach(stream, units, [=] AMPC_DEVICE(int64_t i) {
    int low = 0, high = table.count - 1;  // the last entry that starts at or before i
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (table.entries[middle].first <= i) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const Entry& e = table.entries[low];
    const int64_t at = i - e.first, row = e.width.Quotient(at), column = at - row * e.width.divisor();
    reinterpret_cast<T*>(e.to + row * e.to_row)[column] = reinterpret_cast<const T*>(e.from + row * e.from_row)[column];
  });
}

int64_t UnitOf(const RowsPart& p) {
  Alignment a;
  a.Add(p.from);
  a.Add(p.to);
  a.Add(p.width);
  if (p.rows > 1) {
    a.Add(p.from_row);
    a.Add(p.to_row);
  }
  return a.unit();
}

template <class T>
int FillUnits(void* stream, T* to, int64_t count, const FillElement& element) {
  Aligned16 wide;
  for (size_t i = 0; i < 16 / sizeof(T); ++i) memcpy(reinterpret_cast<char*>(&wide) + i * sizeof(T), element.bytes, sizeof(T));
  constexpr int64_t kInWide = 16 / sizeof(T);
  const int64_t wides = reinterpret_cast<uint64_t>(to) % 16 == 0 ? count / kInWide : 0;
  T narrow;
  memcpy(&narrow, element.bytes, sizeof(T));
  return ForEach(stream, wides + (count - wides * kInWide), [=] AMPC_DEVICE(int64_t i) {
    if (i < wides) {
      reinterpret_cast<Aligned16*>(to)[i] = wide;
    } else {
      to[i - wides + wides * kInWide] = narrow;
    }
  });
}

constexpr int64_t kLiteralBytes = 2048;  // of one launch

struct Literal {
  unsigned char bytes[kLiteralBytes];
};

int WriteLiteral(void* stream, const Literal& literal, unsigned char* to, int64_t n) {
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) { to[i] = literal.bytes[i]; });
}

int LaunchTiled(void* stream, const CopyParams& p, int across, const void* from, void* to) {
  TileCopy c;
  for (int d = 0; d + 1 < p.rank; ++d) {
    if (d == across) continue;
    c.outer_from.Add(p.axes[d].size, p.axes[d].from / p.run);
    c.outer_to.Add(p.axes[d].size, p.axes[d].to / p.run);
    c.teams *= p.axes[d].size;
  }
  c.across = p.axes[across].size;
  c.across_to = p.axes[across].to / p.run;
  c.along = p.axes[p.rank - 1].size;
  c.along_from = p.axes[p.rank - 1].from / p.run;
  return MoveTilesOf(stream, c, p.run, from, to);
}

}  // namespace

int LaunchCopy(void* stream, const CopyParams& p, const void* from, void* to) {
  if (p.run == 0) return 0;
  if (const int across = AxisAcross(p); across >= 0) return LaunchTiled(stream, p, across, from, to);
  Alignment a;
  a.Add(from);
  a.Add(to);
  a.Add(p.run);
  for (int d = 0; d < p.rank; ++d) {
    a.Add(p.axes[d].from);
    a.Add(p.axes[d].to);
  }
  const int64_t unit = a.unit();
  UnitCopy c;
  const auto add = [&](const CopyAxis& axis) {
    c.from.Add(axis.size, axis.from / unit);
    c.to.Add(axis.size, axis.to / unit);
    c.count *= axis.size;
  };
  for (int d = 0; d < p.rank; ++d) add(p.axes[d]);
  if (p.run > unit) {
    if (c.from.rank == kMaxAxes) return -1;
    add({p.run / unit, unit, unit});
  }
  return VisitUnit(unit, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return CopyUnits<T>(stream, c, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

int LaunchRows(void* stream, const RowsPart* parts, int count) {
  for (int64_t unit = 16; unit > 0; unit /= 2) {
    RowsTable table;
    int64_t units = 0;
    for (int i = 0; i < count; ++i) {
      const RowsPart& p = parts[i];
      if (p.rows == 0 || p.width == 0 || UnitOf(p) != unit) continue;
      table.entries[table.count++] = {p.from, p.to, units, Divider(p.width / unit), p.from_row, p.to_row};
      units += p.rows * (p.width / unit);
    }
    const int code =
        table.count == 0 ? 0 : VisitUnit(unit, [&](auto tag) { return CopyRows<typename decltype(tag)::Type>(stream, table, units); });
    if (code != 0) return code;
  }
  return 0;
}

int LaunchFill(void* stream, void* to, int64_t count, int64_t size, const FillElement& element) {
  return VisitWidth(size, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return FillUnits<T>(stream, static_cast<T*>(to), count, element);
  });
}

int LaunchLiteral(void* stream, void* to, const void* bytes, int64_t n) {
  for (int64_t at = 0; at < n; at += kLiteralBytes) {
    Literal literal;
    const int64_t part = n - at < kLiteralBytes ? n - at : kLiteralBytes;
    memcpy(literal.bytes, static_cast<const char*>(bytes) + at, static_cast<size_t>(part));
    if (const int code = WriteLiteral(stream, literal, static_cast<unsigned char*>(to) + at, part); code != 0) return code;
  }
  return 0;
}

}  // namespace ampc::cuda
