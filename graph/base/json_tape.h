// JsonTape: JSON text as a flat list of values that say where each one lies. For large texts, and for edits that leave the rest of a text
// as it is.
//
//   AMPC_ASSIGN_OR_RETURN(const JsonTape tape, JsonTape::Parse(text));
//   for (JsonRef item : tape.root().Find("items")) { ... item.AsInt() ... item.begin() ... }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

enum class JsonKind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

class JsonTape;

// A value of a tape, or none: asking none gives what is empty. Valid as long as the tape and its text.
class JsonRef {
 public:
  JsonRef() = default;
  JsonRef(const JsonTape* tape, uint32_t node) : tape_(tape), node_(node) {}

  bool exists() const { return tape_ != nullptr; }
  bool Is(JsonKind kind) const;
  uint32_t node() const { return node_; }
  // Its range in the text, with its quotes or brackets.
  size_t begin_offset() const;
  size_t end_offset() const;
  absl::string_view text() const;

  std::optional<bool> AsBool() const;
  std::optional<int64_t> AsInt() const;    // a number written without fraction and exponent that fits
  std::optional<double> AsDouble() const;  // a number that a double can hold
  std::optional<std::string> AsString() const;
  bool IsString(absl::string_view value) const;

  JsonRef Find(absl::string_view key) const;  // member of an object or none; linear
  size_t size() const;                        // items of an array, members of an object
  JsonRef operator[](size_t i) const;         // item of an array or none; linear

  // The items of an array.
  class Iterator {
   public:
    Iterator(const JsonTape* tape, uint32_t node) : tape_(tape), node_(node) {}
    JsonRef operator*() const { return {tape_, node_}; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    const JsonTape* tape_;
    uint32_t node_;
  };
  Iterator begin() const;
  Iterator end() const;

 private:
  const JsonTape* tape_ = nullptr;
  uint32_t node_ = 0;
};

// Well-formed UTF-8 only, no duplicate keys, no trailing text, bounded depth (RFC 8259). `text` must outlive the tape.
class JsonTape {
 public:
  struct Node {
    uint32_t begin = 0, end = 0;  // in the text
    uint32_t next = 0;            // the node behind this value and all inside it
    JsonKind kind = JsonKind::kNull;
    bool escaped = false;  // a string with escapes
  };

  // BadInputError "byte N: found ..., needs ..."; the caller puts the file's name before it.
  static absl::StatusOr<JsonTape> Parse(absl::string_view text);

  JsonRef root() const { return {this, 0}; }
  JsonRef at(uint32_t node) const { return {this, node}; }
  absl::string_view text() const { return text_; }
  // An object's members are its keys, each with its value behind it.
  const std::vector<Node>& nodes() const { return nodes_; }
  std::string StringOf(const Node& node) const;

 private:
  friend class JsonTapeParser;
  absl::string_view text_;
  std::vector<Node> nodes_;
};

}  // namespace ampc
