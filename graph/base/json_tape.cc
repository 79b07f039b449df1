#include "graph/base/json_tape.h"

#include <algorithm>
#include <charconv>
#include <limits>

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

}  // namespace

class JsonTapeParser {
 public:
  explicit JsonTapeParser(absl::string_view text) : text_(text) {}

  absl::Status ParseDocument(JsonTape* tape) {
    tape_ = tape;
    SkipSpace();
    AMPC_RETURN_IF_ERROR(ParseValue(0));
    SkipSpace();
    return at_ == text_.size() ? absl::OkStatus() : Expected("the end");
  }
  // Of a text that is a string: appends what it means to `out`, which may be null.
  absl::Status ParseString(std::string* out);

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

  absl::Status ParseValue(int depth);
  absl::Status ParseInto(int depth, uint32_t node);
  absl::Status ParseWord(absl::string_view word);
  absl::Status ParseNumber();
  absl::Status ParseStringNode();
  absl::Status ParseEscape(std::string* out);
  absl::Status ParseHex4(uint32_t* code);
  absl::Status ParseArray(int depth);
  absl::Status ParseObject(int depth);
  absl::Status CheckUniqueKeys(uint32_t object) const;

  // A node that begins here; it ends where Close is called.
  uint32_t Open(JsonKind kind);
  void Close(uint32_t node);

  absl::string_view text_;
  size_t at_ = 0;
  JsonTape* tape_ = nullptr;
  bool escaped_ = false;                   // the last string has escapes
  mutable std::vector<std::string> keys_;  // reused
};

uint32_t JsonTapeParser::Open(JsonKind kind) {
  JsonTape::Node& node = tape_->nodes_.emplace_back();
  node.begin = static_cast<uint32_t>(at_);
  node.kind = kind;
  return static_cast<uint32_t>(tape_->nodes_.size() - 1);
}

void JsonTapeParser::Close(uint32_t node) {
  tape_->nodes_[node].end = static_cast<uint32_t>(at_);
  tape_->nodes_[node].next = static_cast<uint32_t>(tape_->nodes_.size());
}

absl::Status JsonTapeParser::ParseValue(int depth) {
  if (depth > kMaxDepth) return BadInputError(absl::StrCat("byte ", at_, ": nested deeper than ", kMaxDepth, " levels"));
  switch (Peek()) {
    case '{': return ParseInto(depth, Open(JsonKind::kObject));
    case '[': return ParseInto(depth, Open(JsonKind::kArray));
    case '"': return ParseStringNode();
    case 't':
    case 'f': return ParseInto(depth, Open(JsonKind::kBool));
    case 'n': return ParseInto(depth, Open(JsonKind::kNull));
    default: return Peek() == '-' || IsDigit(Peek()) ? ParseInto(depth, Open(JsonKind::kNumber)) : Expected("a value");
  }
}

absl::Status JsonTapeParser::ParseInto(int depth, uint32_t node) {
  switch (tape_->nodes_[node].kind) {
    case JsonKind::kObject: AMPC_RETURN_IF_ERROR(ParseObject(depth)); break;
    case JsonKind::kArray: AMPC_RETURN_IF_ERROR(ParseArray(depth)); break;
    case JsonKind::kNumber: AMPC_RETURN_IF_ERROR(ParseNumber()); break;
    case JsonKind::kBool: AMPC_RETURN_IF_ERROR(ParseWord(Peek() == 't' ? "true" : "false")); break;
    default: AMPC_RETURN_IF_ERROR(ParseWord("null")); break;
  }
  Close(node);
  return tape_->nodes_[node].kind == JsonKind::kObject ? CheckUniqueKeys(node) : absl::OkStatus();
}

absl::Status JsonTapeParser::ParseStringNode() {
  const uint32_t node = Open(JsonKind::kString);
  escaped_ = false;
  AMPC_RETURN_IF_ERROR(ParseString(nullptr));
  Close(node);
  tape_->nodes_[node].escaped = escaped_;
  return absl::OkStatus();
}

absl::Status JsonTapeParser::ParseWord(absl::string_view word) {
  if (text_.substr(at_, word.size()) != word) return Expected(absl::StrCat("'", word, "'"));
  at_ += word.size();
  return absl::OkStatus();
}

absl::Status JsonTapeParser::ParseNumber() {
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
  return absl::OkStatus();
}

absl::Status JsonTapeParser::ParseString(std::string* out) {
  ++at_;  // the quote that brought us here
  while (true) {
    if (Take('"')) return absl::OkStatus();
    if (Take('\\')) {
      escaped_ = true;
      AMPC_RETURN_IF_ERROR(ParseEscape(out));
      continue;
    }
    const size_t length = Utf8Length(text_.substr(at_));
    if (length == 0 || static_cast<unsigned char>(Peek()) < 0x20) return Expected("a character of a string or '\"'");
    if (out != nullptr) out->append(text_.data() + at_, length);
    at_ += length;
  }
}

absl::Status JsonTapeParser::ParseEscape(std::string* out) {
  constexpr absl::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (const size_t i = at_ < text_.size() ? kLetters.find(Peek()) : absl::string_view::npos; i != absl::string_view::npos) {
    if (out != nullptr) out->push_back(kMeanings[i]);
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
  if (out != nullptr) AppendUtf8(code, out);
  return absl::OkStatus();
}

absl::Status JsonTapeParser::ParseHex4(uint32_t* code) {
  *code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const int digit = HexDigit(Peek());
    if (digit < 0) return Expected("a hexadecimal digit");
    *code = *code << 4 | static_cast<uint32_t>(digit);
  }
  return absl::OkStatus();
}

absl::Status JsonTapeParser::ParseArray(int depth) {
  ++at_;
  SkipSpace();
  if (Take(']')) return absl::OkStatus();
  while (true) {
    SkipSpace();
    AMPC_RETURN_IF_ERROR(ParseValue(depth + 1));
    SkipSpace();
    if (Take(']')) return absl::OkStatus();
    if (!Take(',')) return Expected("',' or ']'");
  }
}

absl::Status JsonTapeParser::ParseObject(int depth) {
  ++at_;
  SkipSpace();
  if (Take('}')) return absl::OkStatus();
  while (true) {
    SkipSpace();
    if (Peek() != '"') return Expected("'\"' of a key");
    AMPC_RETURN_IF_ERROR(ParseStringNode());
    SkipSpace();
    if (!Take(':')) return Expected("':'");
    SkipSpace();
    AMPC_RETURN_IF_ERROR(ParseValue(depth + 1));
    SkipSpace();
    if (Take('}')) return absl::OkStatus();
    if (!Take(',')) return Expected("',' or '}'");
  }
}

absl::Status JsonTapeParser::CheckUniqueKeys(uint32_t object) const {
  keys_.clear();
  const std::vector<JsonTape::Node>& nodes = tape_->nodes_;
  for (uint32_t key = object + 1; key < nodes[object].next; key = nodes[key + 1].next) keys_.push_back(tape_->StringOf(nodes[key]));
  std::sort(keys_.begin(), keys_.end());
  const auto duplicate = std::adjacent_find(keys_.begin(), keys_.end());
  if (duplicate == keys_.end()) return absl::OkStatus();
  return BadInputError(absl::StrCat("byte ", at_, ": the object that ends here has the key '", *duplicate, "' twice"));
}

std::string JsonTape::StringOf(const Node& node) const {
  const absl::string_view quoted = text_.substr(node.begin, node.end - node.begin);
  if (!node.escaped) return std::string(quoted.substr(1, quoted.size() - 2));
  std::string out;
  (void)JsonTapeParser(quoted).ParseString(&out);  // Parse has checked it
  return out;
}

absl::StatusOr<JsonTape> JsonTape::Parse(absl::string_view text) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return UnsupportedError(absl::StrCat("a text of ", text.size(), " bytes, at most 2 GiB are possible"));
  }
  JsonTape tape;
  tape.text_ = text;
  AMPC_RETURN_IF_ERROR(JsonTapeParser(text).ParseDocument(&tape));
  tape.nodes_.shrink_to_fit();
  return tape;
}

namespace {

template <typename T>
std::optional<T> Number(JsonRef value) {
  T number = 0;
  if (!value.Is(JsonKind::kNumber)) return std::nullopt;
  const absl::string_view text = value.text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

bool JsonRef::Is(JsonKind kind) const { return tape_ != nullptr && tape_->nodes()[node_].kind == kind; }
size_t JsonRef::begin_offset() const { return tape_->nodes()[node_].begin; }
size_t JsonRef::end_offset() const { return tape_->nodes()[node_].end; }
absl::string_view JsonRef::text() const {
  return tape_ == nullptr ? absl::string_view() : tape_->text().substr(begin_offset(), end_offset() - begin_offset());
}

std::optional<bool> JsonRef::AsBool() const { return Is(JsonKind::kBool) ? std::optional(text() == "true") : std::nullopt; }
std::optional<int64_t> JsonRef::AsInt() const { return Number<int64_t>(*this); }
std::optional<double> JsonRef::AsDouble() const { return Number<double>(*this); }
std::optional<std::string> JsonRef::AsString() const {
  return Is(JsonKind::kString) ? std::optional(tape_->StringOf(tape_->nodes()[node_])) : std::nullopt;
}

bool JsonRef::IsString(absl::string_view value) const {
  if (!Is(JsonKind::kString)) return false;
  if (tape_->nodes()[node_].escaped) return tape_->StringOf(tape_->nodes()[node_]) == value;
  const absl::string_view quoted = text();
  return quoted.substr(1, quoted.size() - 2) == value;
}

JsonRef JsonRef::Find(absl::string_view key) const {
  if (!Is(JsonKind::kObject)) return {};
  const std::vector<JsonTape::Node>& nodes = tape_->nodes();
  for (uint32_t at = node_ + 1; at < nodes[node_].next; at = nodes[at + 1].next) {
    if (JsonRef(tape_, at).IsString(key)) return {tape_, at + 1};
  }
  return {};
}

size_t JsonRef::size() const {
  size_t count = 0;
  if (Is(JsonKind::kObject)) {
    const std::vector<JsonTape::Node>& nodes = tape_->nodes();
    for (uint32_t at = node_ + 1; at < nodes[node_].next; at = nodes[at + 1].next) ++count;
    return count;
  }
  for (auto it = begin(); it != end(); ++it) ++count;
  return count;
}

JsonRef JsonRef::operator[](size_t i) const {
  for (const JsonRef item : *this) {
    if (i-- == 0) return item;
  }
  return {};
}

JsonRef::Iterator& JsonRef::Iterator::operator++() {
  node_ = tape_->nodes()[node_].next;
  return *this;
}
JsonRef::Iterator JsonRef::begin() const { return {tape_, Is(JsonKind::kArray) ? node_ + 1 : 0}; }
JsonRef::Iterator JsonRef::end() const { return {tape_, Is(JsonKind::kArray) ? tape_->nodes()[node_].next : 0}; }

}  // namespace ampc
