// FindRepeats: equal blocks that follow each other in a sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ampc {

struct Repeat {
  int first = 0;   // where the first block begins
  int period = 0;  // length of a block
  int count = 0;   // blocks
  int end() const { return first + period * count; }
  friend bool operator==(const Repeat&, const Repeat&) = default;
};

// Runs of two or more equal blocks of at most `max_period` tokens, ordered and without overlap; each covers at least
// `min_cover` tokens. The run that covers most comes first, the shortest period of it counts; of several places to begin, that
// with the smallest `cut` (as long as `tokens`, what it costs to part the sequence before a token) wins.
// Time O(tokens * max_period).
std::vector<Repeat> FindRepeats(absl::Span<const uint64_t> tokens, absl::Span<const int> cut, int max_period = 256, int min_cover = 4);

}  // namespace ampc
