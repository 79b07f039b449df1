// Bytes that claim to be text: UTF-8 checking, and names of others made fit for people.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace ampc {

// Bytes of the well-formed UTF-8 sequence at the start of `text`, 1 to 4; 0 when there is none (overlong forms, surrogates, values
// above U+10FFFF and cut sequences are not well-formed).
size_t Utf8Length(absl::string_view text);

// Whether all of `text` is well-formed.
bool IsUtf8(absl::string_view text);

// Bytes of the control character at the start of `text`: 1 for U+0000 to U+001F and U+007F, 2 for U+0080 to U+009F; 0 when there is none.
size_t ControlLength(absl::string_view text);
// One line that says nothing to a terminal: control characters become \xNN, every other byte stays.
std::string Printable(absl::string_view text);
// The same of text that has lines: line feeds and tabs stay.
std::string PrintableLines(absl::string_view text);
// Well-formed UTF-8 that XML allows: line feeds and tabs stay; other control characters, U+FFFE, U+FFFF and bytes that are no UTF-8 become
// U+FFFD.
std::string DocumentText(absl::string_view text);

}  // namespace ampc
