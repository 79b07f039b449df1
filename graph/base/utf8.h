// UTF-8 checking, shared by the JSON reader and writer.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace ampc {

// Bytes of the well-formed UTF-8 sequence at the start of `text`, 1 to 4; 0 when there is none (overlong forms, surrogates, values
// above U+10FFFF and cut sequences are not well-formed).
size_t Utf8Length(absl::string_view text);

// Whether all of `text` is well-formed.
bool IsUtf8(absl::string_view text);

}  // namespace ampc
