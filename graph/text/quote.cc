#include "graph/text/quote.h"

#include <algorithm>

#include "graph/base/utf8.h"

namespace ampc::text {
namespace {

constexpr char kHex[] = "0123456789abcdef";

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool IsBareName(absl::string_view name) {
  return !name.empty() && IsNameStart(name[0]) && std::all_of(name.begin(), name.end(), IsNameChar);
}

void AppendQuoted(absl::string_view bytes, std::string* out) {
  out->push_back('"');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    switch (c) {
      case '"': out->append("\\\""); break;
      case '\\': out->append("\\\\"); break;
      case '\n': out->append("\\n"); break;
      case '\t': out->append("\\t"); break;
      case '\r': out->append("\\r"); break;
      default:
        const size_t control = ControlLength(bytes.substr(i));
        for (size_t k = 0; k < control; ++k) {
          const auto u = static_cast<unsigned char>(bytes[i + k]);
          out->append({'\\', 'x', kHex[u >> 4], kHex[u & 15]});
        }
        if (control == 0) out->push_back(c);
        i += control == 2 ? 1 : 0;
    }
  }
  out->push_back('"');
}

void AppendName(absl::string_view name, std::string* out) {
  if (IsBareName(name)) {
    out->append(name.data(), name.size());
  } else {
    AppendQuoted(name, out);
  }
}

void AppendPath(absl::string_view path, std::string* out) {
  if (!path.empty() && std::all_of(path.begin(), path.end(), IsPathChar)) {
    out->append(path.data(), path.size());
  } else {
    AppendQuoted(path, out);
  }
}

bool Unescape(absl::string_view text, std::string* bytes) {
  bytes->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes->push_back(text[i]);
      continue;
    }
    if (++i == text.size()) return false;
    switch (text[i]) {
      case 'n': bytes->push_back('\n'); break;
      case 't': bytes->push_back('\t'); break;
      case 'r': bytes->push_back('\r'); break;
      case '"':
      case '\\': bytes->push_back(text[i]); break;
      case 'x': {
        if (i + 2 >= text.size()) return false;
        const int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
        if (high < 0 || low < 0) return false;
        bytes->push_back(static_cast<char>(high * 16 + low));
        i += 2;
        break;
      }
      default: return false;
    }
  }
  return true;
}

}  // namespace ampc::text
