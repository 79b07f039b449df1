// Element types of the safetensors format.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"

namespace ampc::safetensors_internal {

struct ElementType {
  absl::string_view name;
  DType dtype;    // kInvalid: known to the format, not to ampc
  uint8_t bytes;  // per element; 0 when elements are not whole bytes
};

const ElementType* FindType(absl::string_view name);  // null for a name that the format does not define
const ElementType* FindType(DType dtype);             // null for a dtype that the format does not have

}  // namespace ampc::safetensors_internal
