// Names and strings as text: a bare name where the characters allow it, else double quotes with escapes.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace ampc::text {

constexpr bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsNameChar(char c) { return IsNameStart(c) || IsDigit(c) || c == '.'; }
// A path in a weight reference that needs no quotes.
constexpr bool IsPathChar(char c) { return IsNameChar(c) || c == '/' || c == '-'; }

// Letters, digits, `_` and `.`, not starting with a digit or `.`, not empty.
bool IsBareName(absl::string_view name);

// Appends `"..."`. Quotes, backslashes and control bytes are escaped; every other byte stays, so any byte string survives.
void AppendQuoted(absl::string_view bytes, std::string* out);
// Appends the name, quoted only where it must be.
void AppendName(absl::string_view name, std::string* out);
void AppendPath(absl::string_view path, std::string* out);

// The bytes behind the text between two quotes. False when an escape is not one of \n \t \r \" \\ \xHH.
bool Unescape(absl::string_view text, std::string* bytes);

}  // namespace ampc::text
