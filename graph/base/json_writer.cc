#include "graph/base/json_writer.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/utf8.h"

namespace ampc {
namespace {

void AppendEscaped(absl::string_view text, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  while (!text.empty()) {
    const char c = text[0];
    const size_t length = Utf8Length(text);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\t') {
      out->append("\\t");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
      out->append("\\u00");
      out->push_back(kHex[c >> 4]);
      out->push_back(kHex[c & 15]);
    } else if (length == 2 && ControlLength(text) == 2) {
      out->append("\\u00");
      out->push_back(kHex[static_cast<unsigned char>(text[1]) >> 4]);
      out->push_back(kHex[text[1] & 15]);
    } else if (length == 0) {
      out->append("\xef\xbf\xbd");
    } else {
      out->append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

template <typename T>
std::string Digits(T value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

}  // namespace

std::string JsonQuote(absl::string_view text) {
  std::string out = "\"";
  AppendEscaped(text, &out);
  out.push_back('"');
  return out;
}

void JsonWriter::NewLine() {
  text_.push_back('\n');
  text_.append(2 * levels_.size(), ' ');
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) text_.push_back(',');
  if (level.style == kIndented) {
    NewLine();
  } else if (!level.empty && style_ == kIndented) {
    text_.push_back(' ');
  }
  level.empty = false;
}

JsonWriter& JsonWriter::Token(absl::string_view token) {
  Separate();
  text_.append(token.data(), token.size());
  return *this;
}

JsonWriter& JsonWriter::Begin(char open, Style style) {
  Token(absl::string_view(&open, 1));
  const Style outer = levels_.empty() ? style_ : levels_.back().style;
  levels_.push_back({outer == kInline ? kInline : style});
  return *this;
}

JsonWriter& JsonWriter::End(char close) {
  if (!levels_.empty()) {
    const Level level = levels_.back();
    levels_.pop_back();
    if (level.style == kIndented && !level.empty) NewLine();
  }
  text_.push_back(close);
  return *this;
}

JsonWriter& JsonWriter::Key(absl::string_view key) {
  Separate();
  text_.push_back('"');
  AppendEscaped(key, &text_);
  text_.append(style_ == kIndented ? "\": " : "\":");
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) {
  Separate();
  text_.push_back('"');
  AppendEscaped(value, &text_);
  text_.push_back('"');
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t value) { return Token(absl::StrCat(value)); }
JsonWriter& JsonWriter::Double(double value) { return Token(Digits(value)); }
JsonWriter& JsonWriter::Float(float value) { return Token(Digits(value)); }
JsonWriter& JsonWriter::Bool(bool value) { return Token(value ? "true" : "false"); }
JsonWriter& JsonWriter::Null() { return Token("null"); }

JsonWriter& JsonWriter::Ints(absl::Span<const int64_t> values) {
  BeginArray(kInline);
  for (const int64_t value : values) Int(value);
  return EndArray();
}

}  // namespace ampc
