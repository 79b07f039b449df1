// Copies between strided places, and fills: values are moved by their width. Addresses are those of elements, so aligned to their size;
// sources and destinations do not overlap.
#pragma once

#include <cstdint>

namespace ampc::cuda {

inline constexpr int kMaxCopyRank = 7;

struct CopyAxis {
  int64_t size, from, to;  // strides in bytes
};

// Outermost first; no size is 0. `run` bytes are dense on both sides: one element or more.
struct CopyParams {
  int rank = 0;
  CopyAxis axes[kMaxCopyRank];
  int64_t run = 0;
};
// Accesses have up to 16 bytes, as strides and addresses allow; transpositions go through shared memory in tiles.
int LaunchCopy(void* stream, const CopyParams& p, const void* from, void* to);

// Rows of `width` bytes, `from_row` and `to_row` bytes apart; nothing where rows or width is 0.
struct RowsPart {
  const char* from;
  char* to;
  int64_t rows, width, from_row, to_row;
};
inline constexpr int kMaxRowsParts = 64;
// Up to kMaxRowsParts at once, in one launch where they allow the same width of access.
int LaunchRows(void* stream, const RowsPart* parts, int count);

// `count` times the first `size` bytes (1, 2, 4, 8 or 16) of the element.
struct FillElement {
  unsigned char bytes[16] = {};
};
int LaunchFill(void* stream, void* to, int64_t count, int64_t size, const FillElement& element);

// `n` bytes known on the host, which travel with the launches: for few.
int LaunchLiteral(void* stream, void* to, const void* bytes, int64_t n);

}  // namespace ampc::cuda
