// Cursor: the token a parser stands on, and how it says what it found and what it needed.
#pragma once

#include <deque>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/text/lexer.h"

namespace ampc::text {

class Cursor {
 public:
  // `file` goes in front of line numbers; may be empty. Both must outlive the cursor.
  Cursor(absl::string_view text, absl::string_view file) : lexer_(text), file_(file) { Advance(); }

  const Token& token() const { return token_; }
  int line() const { return lexer_.line(); }
  void Advance() { token_ = lexer_.Next(); }

  bool Is(Tok kind) const { return token_.kind == kind; }
  bool Is(char punct) const { return token_.punct == punct; }
  bool IsName() const { return Is(Tok::kName) || Is(Tok::kString); }
  bool IsWord(absl::string_view word) const { return Is(Tok::kName) && token_.text == word; }
  bool Take(Tok kind);
  bool Take(char punct);
  bool TakeWord(absl::string_view word);

  // Each takes what it names, or says at which line something else stood; `needed` completes "found x, needed ...".
  absl::Status Need(char punct, absl::string_view needed);
  absl::Status NeedEndOfLine();
  // A bare or quoted name. The view is valid until ForgetNames.
  absl::StatusOr<absl::string_view> Name(absl::string_view needed);
  absl::StatusOr<int64_t> Int(absl::string_view needed);
  // The path after `@`, the token the cursor must stand on.
  absl::StatusOr<std::string> PathAfterAt();
  void ForgetNames() { unescaped_.clear(); }

  // `line: found 'x', needed ...` for the current token.
  absl::Status Unexpected(absl::string_view needed) const;
  // `line: message` for the current line, or another one.
  absl::Status Error(absl::string_view message) const { return ErrorAt(line(), message); }
  absl::Status ErrorAt(int line, absl::string_view message) const;
  absl::Status AtLine(int line, const absl::Status& status) const;  // of the same code

 private:
  Lexer lexer_;
  absl::string_view file_;
  Token token_;
  std::deque<std::string> unescaped_;
};

}  // namespace ampc::text
