#include "graph/base/utf8.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace ampc {
namespace {

constexpr absl::string_view kReplacement = "\xef\xbf\xbd";

bool IsBreak(char c) { return c == '\n' || c == '\t'; }

std::string Escaped(absl::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t control = lines && IsBreak(text[0]) ? 0 : ControlLength(text);
    if (control == 0) {
      out.push_back(text[0]);
    } else {
      absl::StrAppend(&out, "\\x", absl::Hex(static_cast<uint8_t>(text[control - 1]), absl::kZeroPad2));
    }
    text.remove_prefix(control == 0 ? 1 : control);
  }
  return out;
}

}  // namespace

size_t Utf8Length(absl::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool too_large = lead == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

size_t ControlLength(absl::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x20 || first == 0x7f) return 1;
  return first == 0xc2 && text.size() > 1 && static_cast<uint8_t>(text[1]) >= 0x80 && static_cast<uint8_t>(text[1]) < 0xa0 ? 2 : 0;
}

std::string Printable(absl::string_view text) { return Escaped(text, false); }

std::string PrintableLines(absl::string_view text) { return Escaped(text, true); }

std::string DocumentText(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text), control = IsBreak(text[0]) ? 0 : ControlLength(text);
    const bool no_character = length == 3 && (text.substr(0, 3) == "\xef\xbf\xbe" || text.substr(0, 3) == "\xef\xbf\xbf");
    const bool replaced = length == 0 || control > 0 || no_character;
    absl::StrAppend(&out, replaced ? kReplacement : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace ampc
