// Numbers that an op has as attributes and that enter its data, as an operand would: a filler, a bound, a factor. Not what only says where or
// how, not what normalisations compute with inside (epsilon), and not slopes.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/op_def.h"

namespace ampc {

enum class AttributeUse : uint8_t {
  kOperand,  // as an operand in its place would
  kFills,    // becomes elements of the result
  kAdds,     // a term
  kScales,   // a factor
  kBounds,   // of a selection: an infinity means the same as what is beyond the range
};

struct DataAttribute {
  absl::string_view name;
  AttributeUse use = AttributeUse::kFills;
};

absl::Span<const DataAttribute> DataAttributesOf(const OpDef& def);

}  // namespace ampc
