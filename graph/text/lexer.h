// Lexer: cuts program text into tokens, one at a time. Never fails: what is no token comes as kBad.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace ampc::text {

enum class Tok : uint8_t {
  kEnd,      // of the text
  kNewline,  // statements end here
  kName,     // letters, digits, `_`, `.`
  kString,   // text: what stands between the quotes, escapes not resolved
  kNumber,   // an optional `-`, a digit, then everything that may belong to a number
  kArrow,    // ->
  kOver,     // <-
  kPunct,    // one character, in `punct`
  kBad,      // a string without its end, or a byte that starts nothing
};

struct Token {
  Tok kind = Tok::kEnd;
  char punct = 0;
  bool escaped = false;  // kString: text holds a backslash
  absl::string_view text;
};

class Lexer {
 public:
  explicit Lexer(absl::string_view text) : pos_(text.data()), end_(text.data() + text.size()) {}

  // Blanks, carriage returns and comments (`#` to the end of the line) stand between tokens.
  Token Next();
  // The run of path characters (quote.h) that starts right here; empty when there is none.
  absl::string_view Path();
  // Whether the very next byte is `c`.
  bool At(char c) const { return pos_ != end_ && *pos_ == c; }
  int line() const { return line_; }  // of the token that Next returned last, counted from 1

 private:
  Token Take(Tok kind, const char* begin, const char* end);
  Token String(const char* begin);

  const char* pos_;
  const char* end_;
  int line_ = 1;
  bool newline_before_ = false;
};

}  // namespace ampc::text
