// Streaming JSON output (RFC 8259): the same calls give the same bytes. The caller keeps the grammar: Key before each value
// inside an object, as many ends as begins.
//
//   JsonWriter json(JsonWriter::kIndented);
//   json.BeginObject().Field("model", path).Key("dims").BeginArray(JsonWriter::kInline).Int(1).Int(3).EndArray().EndObject();
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ampc {

class JsonWriter {
 public:
  enum Style { kInline, kIndented };  // one line, or one element a line with two spaces per level

  explicit JsonWriter(Style style = kInline) : style_(style) {}

  JsonWriter& BeginObject(Style style = kIndented) { return Begin('{', style); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray(Style style = kIndented) { return Begin('[', style); }  // inside kInline everything is inline
  JsonWriter& EndArray() { return End(']'); }
  JsonWriter& Key(absl::string_view key);

  JsonWriter& String(absl::string_view value);  // bytes that are not UTF-8 become U+FFFD
  JsonWriter& Int(int64_t value);
  // The shortest digits that read back as the same double. JSON has no other numbers: NaN and the infinities are written as the
  // strings "nan", "inf" and "-inf".
  JsonWriter& Double(double value);
  JsonWriter& Float(float value);  // the shortest digits that read back as the same float
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  JsonWriter& Ints(absl::Span<const int64_t> values);  // an array on one line

  JsonWriter& Field(absl::string_view key, absl::string_view value) { return Key(key).String(value); }
  JsonWriter& Field(absl::string_view key, const char* value) { return Key(key).String(value); }
  JsonWriter& Field(absl::string_view key, const std::string& value) { return Key(key).String(value); }
  JsonWriter& Field(absl::string_view key, bool value) { return Key(key).Bool(value); }
  JsonWriter& Field(absl::string_view key, int value) { return Key(key).Int(value); }
  JsonWriter& Field(absl::string_view key, int64_t value) { return Key(key).Int(value); }
  JsonWriter& Field(absl::string_view key, size_t value) { return Key(key).Int(static_cast<int64_t>(value)); }
  JsonWriter& Field(absl::string_view key, double value) { return Key(key).Double(value); }

  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  JsonWriter& Begin(char open, Style style);
  JsonWriter& End(char close);
  JsonWriter& Token(absl::string_view token);
  void Separate();
  void NewLine();

  struct Level {
    Style style;
    bool empty = true;
  };
  Style style_;
  std::vector<Level> levels_;
  bool after_key_ = false;
  std::string text_;
};

// `text` as a JSON string with its quotes.
std::string JsonQuote(absl::string_view text);

}  // namespace ampc
