// The parts of a statement that stand alone: types, attribute values, literals. Each function starts at the cursor and
// leaves it behind what it took; errors carry the line.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/program.h"
#include "graph/text/cursor.h"

namespace ampc::text {

// The meaning of names outside of a block: blocks and symbolic dimensions.
struct Scope {
  Program* program = nullptr;
  absl::flat_hash_map<std::string, int> blocks;       // name -> index
  absl::flat_hash_map<std::string, int64_t> symbols;  // name -> dimension, see type.h
};

// `f32 [4, ?, batch] lod=1`, `? [*]`, `array<f32> [2]`, `opaque`.
absl::StatusOr<TensorType> ParseType(Cursor& cursor, Scope& scope);

// `3`, `3l`, `0.1`, `0.1d`, `true`, `"text"`, `f16`, `&block`, `$"variable"`, `scalar(3l)`, a list of one of these, or an
// empty list `int[]`. The text alone decides the type.
absl::StatusOr<AttrValue> ParseAttrValue(Cursor& cursor, const Scope& scope);
absl::StatusOr<DType> ParseDTypeWord(Cursor& cursor);

// The elements of a literal as bytes, in order: `[1, 2]`, or one value, which stands for `count` elements; a `count` of -1
// (not known) takes a list of any length and no single value. A single value may fill at most `max_fill` bytes.
absl::StatusOr<std::string> ParseElements(Cursor& cursor, DType dtype, int64_t count, int64_t max_fill);

}  // namespace ampc::text
