#include "graph/text/op_text.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"

namespace ampc::text {
namespace {

// Beyond any real op; attributes and slots are looked up one after the other.
constexpr size_t kMostAttrs = 1024;
constexpr size_t kMostSlots = 1024;
constexpr int64_t kMostGuard = 1 << 30;

absl::Status ParseName(Cursor& cursor, absl::string_view needed, bool overwrites, std::vector<OpText::Name>* out) {
  OpText::Name name;
  name.overwrites = overwrites;
  if (cursor.Take('-')) {
    name.absent = true;
  } else {
    AMPC_ASSIGN_OR_RETURN(name.text, cursor.Name(needed));
  }
  out->push_back(name);
  return absl::OkStatus();
}

// `x`, `-` or `[x, <-y]` behind a slot's `=` or `<-`.
absl::Status ParseSlotNames(Cursor& cursor, bool results, bool overwrites, std::vector<OpText::Name>* out) {
  const absl::string_view needed = results ? "a result, '-' or a list" : "an operand, '-' or a list";
  if (!cursor.Take('[')) return ParseName(cursor, needed, overwrites, out);
  if (cursor.Take(']')) return absl::OkStatus();
  do {
    const bool over = overwrites || (results && cursor.Take(Tok::kOver));
    AMPC_RETURN_IF_ERROR(ParseName(cursor, results ? "a result" : "an operand", over, out));
  } while (cursor.Take(','));
  return cursor.Need(']', "',' or ']'");
}

absl::Status AddSlot(Cursor& cursor, absl::string_view slot, bool results, bool overwrites, OpText* op) {
  std::vector<OpText::Slot>& slots = results ? op->result_slots : op->operand_slots;
  std::vector<OpText::Name>& names = results ? op->results : op->operands;
  if (slots.size() == kMostSlots) return cursor.Error(absl::StrCat("found more than ", kMostSlots, " slots, needed at most as many"));
  const size_t begin = names.size();
  AMPC_RETURN_IF_ERROR(ParseSlotNames(cursor, results, overwrites, &names));
  slots.push_back({slot, begin, names.size()});
  return absl::OkStatus();
}

absl::Status ParseOperands(Cursor& cursor, OpText* op) {
  AMPC_RETURN_IF_ERROR(cursor.Need('(', "'(' and operands"));
  if (cursor.Take(')')) return absl::OkStatus();
  bool first = true;
  do {
    if (cursor.Is('-') && !op->long_operands) {
      AMPC_RETURN_IF_ERROR(ParseName(cursor, "an operand", false, &op->operands));
    } else {
      AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor.Name(op->long_operands ? "a slot" : "an operand or '-'"));
      if (first && cursor.Is('=')) op->long_operands = true;
      if (op->long_operands) {
        AMPC_RETURN_IF_ERROR(cursor.Need('=', "'=' and the operand of the slot"));
        AMPC_RETURN_IF_ERROR(AddSlot(cursor, name, false, false, op));
      } else {
        op->operands.push_back({name});
      }
    }
    first = false;
  } while (cursor.Take(','));
  return cursor.Need(')', "',' or ')'");
}

absl::Status ParseLongResults(Cursor& cursor, OpText* op) {
  op->long_results = true;
  do {
    AMPC_ASSIGN_OR_RETURN(absl::string_view slot, cursor.Name("a result slot"));
    const bool overwrites = cursor.Take(Tok::kOver);
    if (!overwrites) AMPC_RETURN_IF_ERROR(cursor.Need('=', "'=' or '<-' and the result of the slot"));
    AMPC_RETURN_IF_ERROR(AddSlot(cursor, slot, true, overwrites, op));
  } while (cursor.Take(','));
  return absl::OkStatus();
}

absl::Status ParseAttr(Cursor& cursor, const Scope& scope, OpText* op) {
  if (op->attrs.size() == kMostAttrs)
    return cursor.Error(absl::StrCat("found more than ", kMostAttrs, " attributes, needed at most as many"));
  const int line = cursor.line();
  AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor.Name("an attribute"));
  for (const Attr& a : op->attrs) {
    if (a.name == name) return cursor.ErrorAt(line, absl::StrCat("found the attribute '", name, "' twice, needed it once"));
  }
  AMPC_RETURN_IF_ERROR(cursor.Need('=', "'=' and the value of the attribute"));
  AMPC_ASSIGN_OR_RETURN(AttrValue value, ParseAttrValue(cursor, scope));
  op->attrs.push_back({std::string(name), std::move(value)});
  return absl::OkStatus();
}

absl::Status WasElement(Cursor& cursor, std::vector<DType>* out) {
  out->push_back(DType::kInvalid);
  if (cursor.Take('-')) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(out->back(), ParseDTypeWord(cursor));
  return absl::OkStatus();
}

absl::Status AsElement(Cursor& cursor, std::vector<std::string>* out) {
  out->emplace_back();
  if (cursor.Take('-')) return absl::OkStatus();
  if (!cursor.Is(Tok::kString)) return cursor.Unexpected("a name in quotes");
  AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor.Name("a name in quotes"));
  out->back() = std::string(name);
  return absl::OkStatus();
}

absl::Status StopElement(Cursor& cursor, std::vector<bool>* out) {
  const bool value = cursor.IsWord("true");
  if (!value && !cursor.IsWord("false")) return cursor.Unexpected("true or false");
  out->push_back(value);
  cursor.Advance();
  return absl::OkStatus();
}

// `element` or `[element, element]`; a second mark of the same name is an error.
template <typename T>
absl::Status ListOrOne(Cursor& cursor, absl::Status (*element)(Cursor&, std::vector<T>*), std::vector<T>* out) {
  if (!out->empty()) return cursor.Error("found the same mark twice, needed it once");
  if (!cursor.Take('[')) return element(cursor, out);
  do {
    AMPC_RETURN_IF_ERROR(element(cursor, out));
  } while (cursor.Take(','));
  return cursor.Need(']', "',' or ']'");
}

absl::Status ParseAmpMark(Cursor& cursor, OpText* op) {
  const bool inserted = cursor.IsWord("inserted");
  if (!inserted && !cursor.IsWord("fp32")) return cursor.Unexpected("'inserted' or 'fp32(\"reason\")'");
  cursor.Advance();
  op->marks.amp = inserted ? AmpMark::kInserted : AmpMark::kFp32;
  op->marks.amp_reason.clear();
  if (!cursor.Take('(')) return absl::OkStatus();
  if (!cursor.Is(Tok::kString)) return cursor.Unexpected("the reason in quotes");
  AMPC_ASSIGN_OR_RETURN(absl::string_view reason, cursor.Name("the reason in quotes"));
  op->marks.amp_reason = std::string(reason);
  return cursor.Need(')', "')' after the reason");
}

// `!converted="dtype=fp16;level=O2"`: graph/converted.h.
absl::Status ParseConverted(Cursor& cursor, OpText* op) {
  if (op->marks.amp != AmpMark::kNone) return cursor.Error("found marks 'amp' and 'converted' on one op, needed one of the two");
  if (!cursor.Is(Tok::kString)) return cursor.Unexpected("the options of the conversion in quotes");
  AMPC_ASSIGN_OR_RETURN(absl::string_view options, cursor.Name("the options of the conversion in quotes"));
  op->marks.amp_reason = std::string(options);
  return absl::OkStatus();
}

// `!was.out_dtype=f32`: `mark` is what stands before `=`; a quoted attribute name comes as the next token.
absl::Status ParseAttrWas(Cursor& cursor, absl::string_view mark, OpText* op) {
  std::string attr(mark.substr(4));
  if (attr.empty()) {
    AMPC_ASSIGN_OR_RETURN(absl::string_view quoted, cursor.Name("the name of an attribute"));
    attr = std::string(quoted);
  }
  if (op->marks.was.size() == kMostAttrs) return cursor.Error("found too many marks");
  AMPC_RETURN_IF_ERROR(cursor.Need('=', "'=' and a data type"));
  AMPC_ASSIGN_OR_RETURN(DType dtype, ParseDTypeWord(cursor));
  op->marks.was.emplace_back(std::move(attr), dtype);
  return absl::OkStatus();
}

absl::Status ParseMark(Cursor& cursor, OpText* op) {
  constexpr absl::string_view kNeeded = "a mark: guard, amp, converted, was, as, stop_gradient or opaque";
  if (!cursor.Is(Tok::kName)) return cursor.Unexpected(kNeeded);
  const absl::string_view mark = cursor.token().text;
  if (mark == "opaque" || mark == "stop_gradient") {
    cursor.Advance();
    if (mark == "opaque") {
      op->opaque = true;
      return absl::OkStatus();
    }
    if (cursor.Take('=')) return ListOrOne(cursor, StopElement, &op->stop_gradient);
    op->stop_gradient.assign(1, true);
    return absl::OkStatus();
  }
  if (absl::StartsWith(mark, "was.")) {
    cursor.Advance();
    return ParseAttrWas(cursor, mark, op);
  }
  if (mark != "guard" && mark != "amp" && mark != "converted" && mark != "was" && mark != "as") return cursor.Unexpected(kNeeded);
  cursor.Advance();
  AMPC_RETURN_IF_ERROR(cursor.Need('=', "'=' and the value of the mark"));
  if (mark == "amp") return ParseAmpMark(cursor, op);
  if (mark == "converted") return ParseConverted(cursor, op);
  if (mark == "was") return ListOrOne(cursor, WasElement, &op->was);
  if (mark == "as") return ListOrOne(cursor, AsElement, &op->export_names);
  AMPC_ASSIGN_OR_RETURN(int64_t guard, cursor.Int("the number of a guard region"));
  if (guard < 1 || guard > kMostGuard)
    return cursor.Error(absl::StrCat("found guard region ", guard, ", needed a number from 1 to ", kMostGuard));
  op->marks.guard = static_cast<int>(guard);
  return absl::OkStatus();
}

// `a, b =`, `a <-` or nothing in front of the op's type, which is left in `op->type`.
absl::Status ParseShortResults(Cursor& cursor, std::optional<absl::string_view> first, OpText* op) {
  if (first.has_value() && cursor.Is('(')) {
    op->type = *first;
    return absl::OkStatus();
  }
  if (first.has_value()) {
    op->results.push_back({*first});
  } else {
    AMPC_RETURN_IF_ERROR(ParseName(cursor, "a result", false, &op->results));
  }
  while (cursor.Take(',')) AMPC_RETURN_IF_ERROR(ParseName(cursor, "a result or '-'", false, &op->results));
  if (cursor.Take(Tok::kOver)) {
    for (OpText::Name& name : op->results) name.overwrites = true;
  } else {
    AMPC_RETURN_IF_ERROR(cursor.Need('=', "a statement: a declaration, '=' or '<-' behind results, or '(' behind an op"));
  }
  AMPC_ASSIGN_OR_RETURN(op->type, cursor.Name("an op"));
  return absl::OkStatus();
}

}  // namespace

void OpText::Clear() {
  long_operands = long_results = typed = opaque = false;
  operands.clear();
  results.clear();
  operand_slots.clear();
  result_slots.clear();
  attrs.clear();
  types.clear();
  marks = OpMarks();
  was.clear();
  export_names.clear();
  stop_gradient.clear();
}

absl::Status ParseOpText(Cursor& cursor, Scope& scope, std::optional<absl::string_view> first, OpText* op) {
  op->Clear();
  op->line = cursor.line();
  AMPC_RETURN_IF_ERROR(ParseShortResults(cursor, first, op));
  AMPC_RETURN_IF_ERROR(ParseOperands(cursor, op));
  if (cursor.Is(Tok::kArrow)) {
    if (!op->results.empty()) return cursor.Unexpected("results either in front of the op or behind '->'");
    cursor.Advance();
    AMPC_RETURN_IF_ERROR(ParseLongResults(cursor, op));
  }
  while (cursor.IsName()) AMPC_RETURN_IF_ERROR(ParseAttr(cursor, scope, op));
  while (cursor.Take('!')) AMPC_RETURN_IF_ERROR(ParseMark(cursor, op));
  if (cursor.Take(':')) {
    op->typed = true;
    do {
      AMPC_ASSIGN_OR_RETURN(TensorType type, ParseType(cursor, scope));
      op->types.push_back(std::move(type));
    } while (cursor.Take(','));
  }
  if (cursor.Is(Tok::kNewline) || cursor.Is(Tok::kEnd)) return cursor.NeedEndOfLine();
  return cursor.Unexpected(op->typed ? "the end of the line" : "an attribute, a mark, ':' and types, or the end of the line");
}

}  // namespace ampc::text
