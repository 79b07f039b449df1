// SlotDef, AttrDef: the operands, results and attributes that an op's record declares.
#pragma once

#include <cstdint>
#include <string>

#include "graph/attr.h"
#include "graph/op_trait.h"

namespace ampc {

enum class SlotPrecision : uint8_t {
  kFollow,  // takes the op's compute type
  kFp32,    // stays fp32 when the op is low: statistics, scales
  kAsIs,    // whatever it is: indices, shapes, state
};

struct SlotDef {
  std::string name;
  bool optional = false;
  bool variadic = false;
  SlotPrecision precision = SlotPrecision::kFollow;
  bool overwrites = false;  // outputs: may name a param, state or carry that is written again
  bool host_value = false;  // inputs: its value (not only its type) determines shapes: shape tensors, axes
};

struct AttrDef {
  std::string name;
  AttrValue value;        // the default; its alternative is the attribute's type
  bool required = false;  // no default: `value` only gives the type
  bool retarget = false;  // a data type attribute that follows the op's compute type
  bool extra = false;     // carried for a format, without meaning here: never an error, never printed when default
  AttrUse use = AttrUse::kNone;
};

}  // namespace ampc
