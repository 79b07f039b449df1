// A strict JSON reader (RFC 8259) for files from outside: well-formed UTF-8 only, no duplicate keys, no trailing text, bounded depth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

class JsonValue {
 public:
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };  // as JsonKind (json_tape.h)
  struct Member;

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;              // of a string; of a number its digits as written
  std::vector<JsonValue> items;  // of an array
  std::vector<Member> members;   // of an object, in file order

  bool Is(Kind k) const { return kind == k; }
  std::optional<int64_t> AsInt() const;  // a number written without fraction and exponent that fits
  std::optional<double> AsDouble() const;
  const JsonValue* Find(absl::string_view key) const;  // member of an object or null; linear
};

struct JsonValue::Member {
  std::string key;
  JsonValue value;
};

absl::string_view Name(JsonValue::Kind kind);  // "string", "object", ...

// BadInputError "byte N: found ..., needs ..."; the caller puts the file's name before it.
absl::StatusOr<JsonValue> ParseJson(absl::string_view text);

}  // namespace ampc
