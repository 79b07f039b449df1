#include "graph/base/json_reader.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/base/utf8.h"

namespace ampc {
namespace {

constexpr int kMaxDepth = 100;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto tail = [&](int shift) { out->push_back(static_cast<char>(0x80 | ((code >> shift) & 0x3f))); };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | (code >> 6)));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | (code >> 12)));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xf0 | (code >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::Status ParseDocument(JsonValue* value) {
    SkipSpace();
    AMPC_RETURN_IF_ERROR(ParseValue(0, value));
    SkipSpace();
    return at_ == text_.size() ? absl::OkStatus() : Expected("the end");
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (at_ < text_.size() && (Peek() == ' ' || Peek() == '\n' || Peek() == '\r' || Peek() == '\t')) ++at_;
  }

  absl::Status Expected(absl::string_view what) const {
    std::string found = "the end of the text";
    if (at_ < text_.size()) {
      const char c = text_[at_];
      found = c > 0x20 && c < 0x7f ? absl::StrCat("'", absl::string_view(&text_[at_], 1), "'")
                                   : absl::StrCat("byte 0x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
    return BadInputError(absl::StrCat("byte ", at_, ": found ", found, ", needs ", what));
  }

  absl::Status ParseValue(int depth, JsonValue* value);
  absl::Status ParseWord(absl::string_view word);
  absl::Status ParseNumber(JsonValue* value);
  absl::Status ParseString(std::string* out);
  absl::Status ParseEscape(std::string* out);
  absl::Status ParseHex4(uint32_t* code);
  absl::Status ParseArray(int depth, JsonValue* value);
  absl::Status ParseObject(int depth, JsonValue* value);
  absl::Status CheckUniqueKeys(const JsonValue& object) const;

  absl::string_view text_;
  size_t at_ = 0;
};

absl::Status Parser::ParseValue(int depth, JsonValue* value) {
  if (depth > kMaxDepth) return BadInputError(absl::StrCat("byte ", at_, ": nested deeper than ", kMaxDepth, " levels"));
  switch (Peek()) {
    case '{': return ParseObject(depth, value);
    case '[': return ParseArray(depth, value);
    case '"': value->kind = JsonValue::Kind::kString; return ParseString(&value->text);
    case 't': value->kind = JsonValue::Kind::kBool; value->boolean = true; return ParseWord("true");
    case 'f': value->kind = JsonValue::Kind::kBool; return ParseWord("false");
    case 'n': return ParseWord("null");
    default: return Peek() == '-' || IsDigit(Peek()) ? ParseNumber(value) : Expected("a value");
  }
}

absl::Status Parser::ParseWord(absl::string_view word) {
  if (text_.substr(at_, word.size()) != word) return Expected(absl::StrCat("'", word, "'"));
  at_ += word.size();
  return absl::OkStatus();
}

absl::Status Parser::ParseNumber(JsonValue* value) {
  const size_t begin = at_;
  const auto digits = [&] {
    const size_t first = at_;
    while (IsDigit(Peek())) ++at_;
    return at_ > first;
  };
  Take('-');
  if (!Take('0') && !digits()) return Expected("a digit");
  if (Take('.') && !digits()) return Expected("a digit");
  if (Take('e') || Take('E')) {
    if (!Take('+')) Take('-');
    if (!digits()) return Expected("a digit");
  }
  value->kind = JsonValue::Kind::kNumber;
  value->text = std::string(text_.substr(begin, at_ - begin));
  return absl::OkStatus();
}

absl::Status Parser::ParseString(std::string* out) {
  ++at_;  // the quote that brought us here
  while (true) {
    if (Take('"')) return absl::OkStatus();
    if (Take('\\')) {
      AMPC_RETURN_IF_ERROR(ParseEscape(out));
      continue;
    }
    const size_t length = Utf8Length(text_.substr(at_));
    if (length == 0 || static_cast<unsigned char>(Peek()) < 0x20) return Expected("a character of a string or '\"'");
    out->append(text_.data() + at_, length);
    at_ += length;
  }
}

absl::Status Parser::ParseEscape(std::string* out) {
  constexpr absl::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (const size_t i = at_ < text_.size() ? kLetters.find(Peek()) : absl::string_view::npos; i != absl::string_view::npos) {
    out->push_back(kMeanings[i]);
    ++at_;
    return absl::OkStatus();
  }
  if (!Take('u')) return Expected("an escape letter");
  uint32_t code = 0;
  AMPC_RETURN_IF_ERROR(ParseHex4(&code));
  if (code >= 0xd800 && code < 0xdc00) {
    uint32_t low = 0;
    if (!Take('\\') || !Take('u')) return Expected("the second half of a surrogate pair");
    AMPC_RETURN_IF_ERROR(ParseHex4(&low));
    if (low < 0xdc00 || low >= 0xe000) return Expected("the second half of a surrogate pair before this");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    return Expected("the first half of a surrogate pair before this");
  }
  AppendUtf8(code, out);
  return absl::OkStatus();
}

absl::Status Parser::ParseHex4(uint32_t* code) {
  *code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const int digit = HexDigit(Peek());
    if (digit < 0) return Expected("a hexadecimal digit");
    *code = *code << 4 | static_cast<uint32_t>(digit);
  }
  return absl::OkStatus();
}

absl::Status Parser::ParseArray(int depth, JsonValue* value) {
  value->kind = JsonValue::Kind::kArray;
  ++at_;
  SkipSpace();
  if (Take(']')) return absl::OkStatus();
  while (true) {
    SkipSpace();
    AMPC_RETURN_IF_ERROR(ParseValue(depth + 1, &value->items.emplace_back()));
    SkipSpace();
    if (Take(']')) return absl::OkStatus();
    if (!Take(',')) return Expected("',' or ']'");
  }
}

absl::Status Parser::ParseObject(int depth, JsonValue* value) {
  value->kind = JsonValue::Kind::kObject;
  ++at_;
  SkipSpace();
  if (Take('}')) return absl::OkStatus();
  while (true) {
    SkipSpace();
    if (Peek() != '"') return Expected("'\"' of a key");
    JsonValue::Member& member = value->members.emplace_back();
    AMPC_RETURN_IF_ERROR(ParseString(&member.key));
    SkipSpace();
    if (!Take(':')) return Expected("':'");
    SkipSpace();
    AMPC_RETURN_IF_ERROR(ParseValue(depth + 1, &member.value));
    SkipSpace();
    if (Take('}')) return CheckUniqueKeys(*value);
    if (!Take(',')) return Expected("',' or '}'");
  }
}

absl::Status Parser::CheckUniqueKeys(const JsonValue& object) const {
  std::vector<absl::string_view> keys;
  keys.reserve(object.members.size());
  for (const JsonValue::Member& member : object.members) keys.push_back(member.key);
  std::sort(keys.begin(), keys.end());
  const auto twin = std::adjacent_find(keys.begin(), keys.end());
  if (twin == keys.end()) return absl::OkStatus();
  return BadInputError(absl::StrCat("byte ", at_, ": the object that ends here has the key '", *twin, "' twice"));
}

}  // namespace

std::optional<int64_t> JsonValue::AsInt() const {
  int64_t value = 0;
  if (kind != Kind::kNumber) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<double> JsonValue::AsDouble() const {
  double value = 0;
  if (kind != Kind::kNumber) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

const JsonValue* JsonValue::Find(absl::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

absl::string_view Name(JsonValue::Kind kind) {
  constexpr absl::string_view kNames[] = {"null", "boolean", "number", "string", "array", "object"};
  return kNames[static_cast<size_t>(kind)];
}

absl::StatusOr<JsonValue> ParseJson(absl::string_view text) {
  JsonValue value;
  AMPC_RETURN_IF_ERROR(Parser(text).ParseDocument(&value));
  return value;
}

}  // namespace ampc
