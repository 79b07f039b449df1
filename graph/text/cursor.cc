#include "graph/text/cursor.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/text/quote.h"

namespace ampc::text {
namespace {

std::string Shown(const Token& token) {
  switch (token.kind) {
    case Tok::kEnd: return "the end of the text";
    case Tok::kNewline: return "the end of the line";
    default: break;
  }
  constexpr size_t kMost = 40;
  std::string quoted;
  AppendQuoted(token.text.substr(0, kMost), &quoted);
  const std::string inner = quoted.substr(1, quoted.size() - 2);
  const char* dots = token.text.size() > kMost ? "..." : "";
  if (token.kind == Tok::kString) return absl::StrCat("the string \"", token.text.substr(0, kMost), dots, "\"");
  if (token.kind == Tok::kBad && token.text.size() > 1) return absl::StrCat("a string without its closing quote: ", inner, dots);
  return absl::StrCat("'", inner, dots, "'");
}

}  // namespace

bool Cursor::Take(Tok kind) {
  if (!Is(kind)) return false;
  Advance();
  return true;
}

bool Cursor::Take(char punct) {
  if (!Is(punct)) return false;
  Advance();
  return true;
}

bool Cursor::TakeWord(absl::string_view word) {
  if (!IsWord(word)) return false;
  Advance();
  return true;
}

absl::Status Cursor::Need(char punct, absl::string_view needed) { return Take(punct) ? absl::OkStatus() : Unexpected(needed); }

absl::Status Cursor::NeedEndOfLine() {
  if (Is(Tok::kEnd) || Take(Tok::kNewline)) return absl::OkStatus();
  return Unexpected("the end of the line");
}

absl::StatusOr<absl::string_view> Cursor::Name(absl::string_view needed) {
  if (!IsName()) return Unexpected(needed);
  absl::string_view name = token_.text;
  if (token_.escaped) {
    unescaped_.emplace_back();
    if (!Unescape(name, &unescaped_.back())) return Unexpected("escapes of the kind \\n \\t \\r \\\" \\\\ \\x1b");
    name = unescaped_.back();
  }
  Advance();
  return name;
}

absl::StatusOr<int64_t> Cursor::Int(absl::string_view needed) {
  int64_t value = 0;
  const absl::string_view text = token_.text;
  if (!Is(Tok::kNumber)) return Unexpected(needed);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return Unexpected(needed);
  Advance();
  return value;
}

absl::StatusOr<std::string> Cursor::PathAfterAt() {
  std::string path;
  if (!lexer_.At('"')) {
    path = std::string(lexer_.Path());
    Advance();
  } else {
    Advance();
    AMPC_ASSIGN_OR_RETURN(absl::string_view name, Name("a path"));
    path = std::string(name);
  }
  return path;
}

absl::Status Cursor::Unexpected(absl::string_view needed) const {
  return Error(absl::StrCat("found ", Shown(token_), ", needed ", needed));
}

absl::Status Cursor::ErrorAt(int line, absl::string_view message) const {
  return BadInputError(absl::StrCat(file_, file_.empty() ? "" : ":", line, ": ", message));
}

absl::Status Cursor::AtLine(int line, const absl::Status& status) const {
  return Annotate(status, absl::StrCat(file_, file_.empty() ? "" : ":", line));
}

}  // namespace ampc::text
