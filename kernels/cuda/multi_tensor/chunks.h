// ForEachChunk and ForEachTensor: one launch for the elements of many tensors, large and small. All tensors are cut into chunks of kChunk
// elements, each chunk is one team's, and teams take chunks of all tensors in a row, so the device is busy whatever the sizes are.
//
// The tensors' pointers are known only when a kernel is enqueued, and a table of them in device memory would need a copy. They travel as
// the kernel's parameters instead, of which there may be 32,764 bytes: as many tensors as fit are one launch (about 240 of an Adam update
// with masters, 900 gradients to be checked), more are several. Few tensors are a small launch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/common/host_device.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/multi_tensor/chunk_teams.h"

namespace ampc::cuda {

inline constexpr int64_t kChunk = 1 << 14;
inline constexpr int64_t ChunksOf(int64_t elements) { return (elements + kChunk - 1) / kChunk; }

// The place of a tensor among all that a call is for: its position, and the chunks before it.
struct TensorPlace {
  int64_t index = 0;
  int64_t first_chunk = 0;
};

template <class Tensor, int kMost>
struct TensorTable {
  int32_t count = 0;
  int32_t chunks[kMost + 1];  // those before tensor t of this table
  TensorPlace start;          // of tensor 0
  Tensor tensors[kMost];

  // The tensor of a chunk: the last one that begins at it or before, so empty tensors have none.
  AMPC_HOST_DEVICE int Find(int64_t chunk) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (chunks[middle] <= chunk ? low : high) = middle;
    }
    return low;
  }
  AMPC_HOST_DEVICE TensorPlace PlaceOf(int t) const { return {start.index + t, start.first_chunk + chunks[t]}; }
};

// The number of tensors in a table of `bytes`.
template <class Tensor>
constexpr int TableSize(int bytes) {
  return (bytes - 64) / static_cast<int>(sizeof(Tensor) + sizeof(int32_t));
}

template <class Table, class F>
struct ChunkKernel {
  static constexpr bool kIsLarge = IsLarge<F>();
  Table table;
  F f;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t chunk) const {
    const int t = table.Find(chunk);
    const int64_t begin = (chunk - table.chunks[t]) * kChunk, rest = table.tensors[t].elements - begin;
    f(team, table.tensors[t], table.PlaceOf(t), begin, rest < kChunk ? rest : kChunk);
  }
};

template <class Table, class F>
struct TensorKernel {
  static constexpr bool kIsLarge = IsLarge<F>();
  Table table;
  F f;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t t) const {
    f(team, table.tensors[t], table.PlaceOf(static_cast<int>(t)));
  }
};

// launch(table) for tables of as many tensors as fit.
template <class Tensor, class Launch>
int ForEachTable(const Tensor* tensors, int64_t n, Launch launch) {
  constexpr int kFew = TableSize<Tensor>(3500), kMany = TableSize<Tensor>(32000);
  TensorPlace start;
  const auto run = [&](auto& table, int most) {
    table.start = start;
    table.count = static_cast<int32_t>(std::min<int64_t>(n - start.index, most));
    int64_t chunks = 0;
    for (int t = 0; t < table.count; ++t) {
      table.chunks[t] = static_cast<int32_t>(chunks);
      table.tensors[t] = tensors[start.index + t];
      chunks += ChunksOf(table.tensors[t].elements);
    }
    table.chunks[table.count] = static_cast<int32_t>(chunks);
    start.index += table.count;
    start.first_chunk += chunks;
    return launch(table);
  };
  while (start.index < n) {
    TensorTable<Tensor, kFew> few;
    TensorTable<Tensor, kMany> many;
    const int code = n - start.index <= kFew ? run(few, kFew) : run(many, kMany);
    if (code != 0) return code;
  }
  return 0;
}

// f(team, const Tensor&, TensorPlace, int64_t begin, int64_t count) for each chunk: elements [begin, begin + count) of a tensor. Tensor
// is a struct of pointers and numbers with int64_t elements; `begin` is a multiple of kChunk. F is a struct of at most 600 bytes whose
// call operator is a template over the team's type.
template <class Tensor, class F>
int ForEachChunk(void* stream, const Tensor* tensors, int64_t n, F f) {
  static_assert(sizeof(F) <= 600, "the parameters of a kernel are bounded");
  return ForEachTable(tensors, n, [stream, &f](const auto& table) {
    using Table = std::remove_cvref_t<decltype(table)>;
    return ForEachTeamOfChunks(stream, table.chunks[table.count], kChunk, ChunkKernel<Table, F>{table, f});
  });
}

// f(team, const Tensor&, TensorPlace) for each tensor, empty ones, too.
template <class Tensor, class F>
int ForEachTensor(void* stream, const Tensor* tensors, int64_t n, F f) {
  static_assert(sizeof(F) <= 600, "the parameters of a kernel are bounded");
  return ForEachTable(tensors, n, [stream, &f](const auto& table) {
    using Table = std::remove_cvref_t<decltype(table)>;
    return ForEachTeamOfChunks(stream, table.count, kChunk, TensorKernel<Table, F>{table, f});
  });
}

}  // namespace ampc::cuda
