// Ranges: how large and how small the values of a model were in runs of its fp32 program, and what follows for its ops.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "passes/amp/protect/bounds.h"
#include "passes/amp/protect/mask_constants.h"

namespace ampc {

struct ValueRange {
  double largest = 0;     // magnitude of the finite values
  double smallest = 0;    // magnitude of those that are not zero; 0 where all are
  int64_t nonzero = 0;    // finite values that are not zero
  int64_t vanishing = 0;  // of those: that f16 rounds to zero
  int64_t negative = 0;   // of the ones that are not zero
  int64_t not_finite = 0;

  void Add(absl::Span<const float> values);
  void Add(const ValueRange& other);
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// By exported name; values of one name (versions, iterations of a loop, runs) count together.
using Ranges = std::map<std::string, ValueRange>;

// As a JSON file with one line per value, and back. BadInput says what is wrong.
std::string RangesJson(const Ranges& ranges);
absl::StatusOr<Ranges> ParseRanges(absl::string_view text);

// Between which numbers the values lie on other inputs: twice as far from zero as in the runs, on the sides on which they were; no further
// where all that are not zero were alike, as those of a mask. Of values that were finite.
InputRanges BoundsOfRanges(const Ranges& ranges);

// Marks the ops of a program fp32 that make or read a value that reached half the range of `low`, or a value that `low` would lose: all
// of it below the smallest normal number, or most of it zero. Returns the number of marks made; ops marked before keep their marks. Values
// that `ranges` does not name, or that have one of `masks` in them, are no reason. `where` ends the reasons: " on made inputs".
int MarkByRanges(const Ranges& ranges, DType low, absl::string_view where, const MaskConstants& masks, Program& program);

}  // namespace ampc
