#include "passes/option_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace ampc {

std::string EscapeItem(absl::string_view item) {
  std::string out;
  for (const char c : item) {
    if (c == '%' || c == ',' || c == ';' || absl::ascii_iscntrl(c)) {
      absl::StrAppendFormat(&out, "%%%02X", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string UnescapeItem(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '%' && i + 2 < text.size() && absl::SimpleHexAtoi(text.substr(i + 1, 2), &code)) {
      out.push_back(static_cast<char>(code));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string JoinItems(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) absl::StrAppend(&out, out.empty() ? "" : ",", EscapeItem(item));
  return out;
}

std::vector<std::string> SplitItems(absl::string_view text) {
  std::vector<std::string> items;
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) items.push_back(UnescapeItem(item));
  return items;
}

}  // namespace ampc
