#include "graph/text/lexer.h"

#include <cstring>

#include "graph/text/quote.h"

namespace ampc::text {
namespace {

bool IsNumberChar(const char* p) {
  if (IsNameChar(*p)) return true;
  return (*p == '-' || *p == '+') && (p[-1] == 'e' || p[-1] == 'E');  // the sign of an exponent
}

bool StartsWithInf(const char* p, const char* end) { return end - p >= 3 && std::memcmp(p, "inf", 3) == 0; }

}  // namespace

Token Lexer::Take(Tok kind, const char* begin, const char* end) {
  pos_ = end;
  Token token;
  token.kind = kind;
  token.punct = kind == Tok::kPunct ? *begin : 0;
  token.text = absl::string_view(begin, end - begin);
  return token;
}

Token Lexer::String(const char* begin) {
  bool escaped = false;
  for (const char* p = begin + 1; p != end_ && *p != '\n'; ++p) {
    if (*p == '"') {
      Token token = Take(Tok::kString, begin + 1, p);
      pos_ = p + 1;
      token.escaped = escaped;
      return token;
    }
    if (*p == '\\') {
      escaped = true;
      if (p + 1 != end_ && p[1] != '\n') ++p;
    }
  }
  const void* newline = std::memchr(begin, '\n', end_ - begin);
  return Take(Tok::kBad, begin, newline == nullptr ? end_ : static_cast<const char*>(newline));
}

Token Lexer::Next() {
  if (newline_before_) ++line_;
  newline_before_ = false;
  while (pos_ != end_ && (*pos_ == ' ' || *pos_ == '\t' || *pos_ == '\r')) ++pos_;
  if (pos_ != end_ && *pos_ == '#') {
    const void* newline = std::memchr(pos_, '\n', end_ - pos_);
    pos_ = newline == nullptr ? end_ : static_cast<const char*>(newline);
  }
  if (pos_ == end_) return Take(Tok::kEnd, pos_, pos_);
  const char* p = pos_;
  const char* next = p + 1;
  if (*p == '\n') {
    newline_before_ = true;
    return Take(Tok::kNewline, p, next);
  }
  if (IsNameStart(*p)) {
    while (next != end_ && IsNameChar(*next)) ++next;
    return Take(Tok::kName, p, next);
  }
  if (IsDigit(*p) || (*p == '-' && next != end_ && (IsDigit(*next) || StartsWithInf(next, end_)))) {
    while (next != end_ && IsNumberChar(next)) ++next;
    return Take(Tok::kNumber, p, next);
  }
  if (*p == '"') return String(p);
  if (*p == '-' && next != end_ && *next == '>') return Take(Tok::kArrow, p, next + 1);
  if (*p == '<' && next != end_ && *next == '-') return Take(Tok::kOver, p, next + 1);
  static constexpr absl::string_view kPunctuation = "=,:()[]{}<>-!&|+?*@$";
  return Take(kPunctuation.find(*p) == absl::string_view::npos ? Tok::kBad : Tok::kPunct, p, next);
}

absl::string_view Lexer::Path() {
  const char* begin = pos_;
  while (pos_ != end_ && IsPathChar(*pos_)) ++pos_;
  return absl::string_view(begin, pos_ - begin);
}

}  // namespace ampc::text
