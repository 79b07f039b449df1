#include <type_traits>

#include "kernels/common/integer.h"
#include "kernels/cuda/index/index.h"
#include "kernels/cuda/index/positions.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/move/offsets.h"

namespace ampc::cuda {
namespace {

constexpr int64_t kStretch = 64;  // sorted rows that are added in advance where all have one key

template <class T>
AMPC_HOST_DEVICE inline T AddedTo(T sum, T x) {
  if constexpr (std::is_integral_v<T>) {
    return integer::Add(sum, x);
  } else {
    return sum + x;
  }
}

template <class T>
struct Rows {
  SortedRows r;
  Divider width, items;  // items: of the first factor of an outer block
  const T* from;
  ComputeType<T>* partial;  // [outer, count / kStretch, width]

  AMPC_DEVICE int64_t stretches() const { return r.count / kStretch; }
  AMPC_DEVICE bool IsStretch(int64_t first) const {
    return first % kStretch == 0 && first + kStretch <= r.count && r.keys[first] == r.keys[first + kStretch - 1];
  }
  AMPC_DEVICE ComputeType<T> Value(int64_t outer, int64_t p, int64_t column) const {
    return Load(from[(outer * r.count + r.order[p]) * r.width + column]);
  }
};

// Item: [outer, stretch, column].
template <class T>
int SumStretches(void* stream, Rows<T> rows) {
  const int64_t stretches = rows.r.count / kStretch;
  if (stretches == 0) return 0;
  rows.items = Divider(stretches);
  return ForEach(stream, rows.r.outer * stretches * rows.r.width, [=] AMPC_DEVICE(int64_t i) {
    const int64_t line = rows.width.Quotient(i), column = i - line * rows.r.width, outer = rows.items.Quotient(line);
    const int64_t first = (line - outer * rows.items.divisor()) * kStretch;
    if (!rows.IsStretch(first)) return;
    ComputeType<T> sum = rows.Value(outer, first, column);
    for (int64_t p = first + 1; p < first + kStretch; ++p) sum = AddedTo(sum, rows.Value(outer, p, column));
    rows.partial[i] = sum;
  });
}

// Item: [outer, sorted row, column]; the first row of each key does the work.
template <class T>
int SumKeys(void* stream, Rows<T> rows, bool from_zero, T* to) {
  rows.items = Divider(rows.r.count);
  return ForEach(stream, rows.r.outer * rows.r.count * rows.r.width, [=] AMPC_DEVICE(int64_t i) {
    const int64_t line = rows.width.Quotient(i), column = i - line * rows.r.width, outer = rows.items.Quotient(line);
    int64_t p = line - outer * rows.r.count;
    const uint32_t key = rows.r.keys[p];
    if (key >= rows.r.slots || (p > 0 && rows.r.keys[p - 1] == key)) return;
    T* const at = to + (outer * rows.r.slots + key) * rows.r.width + column;
    ComputeType<T> sum = from_zero ? ComputeType<T>(0) : Load(*at);
    while (p < rows.r.count && rows.r.keys[p] == key) {
      if (rows.IsStretch(p)) {
        sum = AddedTo(sum, rows.partial[(outer * rows.stretches() + p / kStretch) * rows.r.width + column]);
        p += kStretch;
      } else {
        sum = AddedTo(sum, rows.Value(outer, p++, column));
      }
    }
    Store(*at, sum);
  });
}

template <class T>
int Sum(void* stream, const SortedRows& r, bool from_zero, const T* from, T* to, ComputeType<T>* partial) {
  const Rows<T> rows{r, Divider(r.width), Divider(), from, partial};
  const int code = SumStretches(stream, rows);
  return code != 0 ? code : SumKeys(stream, rows, from_zero, to);
}

// f(TypeTag<T>{}) for the types that are added.
template <class F>
int VisitAdded(DType type, F f) {
  if (type == DType::kI32) return f(TypeTag<int32_t>{});
  return type == DType::kI64 ? f(TypeTag<int64_t>{}) : VisitFloat(type, f);
}

AMPC_HOST_DEVICE inline bool IsLast(const SortedRows& r, int64_t p) { return p + 1 == r.count || r.keys[p + 1] != r.keys[p]; }

template <class T>
int PutLast(void* stream, const SortedRows& r, int64_t units, const T* from, T* to) {
  const Divider row(units);
  return ForEach(stream, r.count * units, [=] AMPC_DEVICE(int64_t i) {
    const int64_t p = row.Quotient(i), unit = i - p * units;
    if (r.keys[p] < r.slots && IsLast(r, p)) to[r.keys[p] * units + unit] = from[r.order[p] * units + unit];
  });
}

template <class T>
int TakeLast(void* stream, const SortedRows& r, int64_t units, const T* from, T* to) {
  const Divider row(units);
  return ForEach(stream, r.count * units, [=] AMPC_DEVICE(int64_t i) {
    const int64_t p = row.Quotient(i), unit = i - p * units;
    to[r.order[p] * units + unit] = r.keys[p] < r.slots && IsLast(r, p) ? from[r.keys[p] * units + unit] : T{};
  });
}

}  // namespace

int64_t SumBytes(DType type, int64_t outer, int64_t count, int64_t width) {
  const int64_t size = type == DType::kF64 || type == DType::kI64 ? 8 : 4;
  return outer * (count / kStretch) * width * size;
}

int LaunchSumRows(void* stream, DType type, const SortedRows& rows, bool from_zero, const void* from, void* to, void* workspace) {
  if (rows.outer * rows.count * rows.width == 0) return 0;
  return VisitAdded(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Sum<T>(stream, rows, from_zero, static_cast<const T*>(from), static_cast<T*>(to), static_cast<ComputeType<T>*>(workspace));
  });
}

int LaunchPutLast(void* stream, const SortedRows& rows, const void* from, void* to) {
  if (rows.count * rows.width == 0) return 0;
  return VisitWidth(UnitOf(rows.width, from, to), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return PutLast<T>(stream, rows, rows.width / static_cast<int64_t>(sizeof(T)), static_cast<const T*>(from), static_cast<T*>(to));
  });
}

int LaunchTakeLast(void* stream, const SortedRows& rows, const void* from, void* to) {
  if (rows.count * rows.width == 0) return 0;
  return VisitWidth(UnitOf(rows.width, from, to), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return TakeLast<T>(stream, rows, rows.width / static_cast<int64_t>(sizeof(T)), static_cast<const T*>(from), static_cast<T*>(to));
  });
}

}  // namespace ampc::cuda
