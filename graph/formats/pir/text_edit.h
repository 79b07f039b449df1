// TextEdit: a piece of a text with some parts replaced.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/base/json_tape.h"

namespace ampc::pir {

class TextEdit {
 public:
  explicit TextEdit(const JsonTape& tape) : tape_(tape) {}

  // No two replaced parts overlap.
  void Replace(JsonRef value, std::string text) { Replace(value.begin_offset(), value.end_offset(), std::move(text)); }
  // The last member of an object becomes `key` with the string `value`; "" for none.
  void SetLastMember(JsonRef object, absl::string_view key, absl::string_view value);
  // The text from `begin` to `end`, with what was replaced in it.
  std::string Apply(size_t begin, size_t end) const;

 private:
  struct Part {
    size_t begin, end;
    std::string text;
  };
  void Replace(size_t begin, size_t end, std::string text) { parts_.push_back({begin, end, std::move(text)}); }

  const JsonTape& tape_;
  std::vector<Part> parts_;
};

}  // namespace ampc::pir
