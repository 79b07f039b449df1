#include "graph/formats/onnx/undo.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ampc::onnx {
namespace {

constexpr absl::string_view kNodeKey = "node=", kMade = "made";

std::string Escape(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ';' || c == '%' || c == '\n' || c == '\r') {
      absl::StrAppend(&out, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string Unescape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int value = 0;
    if (text[i] == '%' && i + 2 < text.size() && absl::SimpleHexAtoi(text.substr(i + 1, 2), &value)) {
      out.push_back(static_cast<char>(value));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// "n3.1" or "n3-9".
bool ParseLocation(absl::string_view text, int graph, Location* location, int* last) {
  if (text.empty()) return false;
  *location = {.section = text[0], .graph = graph};
  text.remove_prefix(1);
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (!absl::SimpleAtoi(text.substr(0, digits), &location->index)) return false;
  *last = location->index;
  text.remove_prefix(digits);
  if (absl::ConsumePrefix(&text, ".")) return absl::SimpleAtoi(text, &location->sub);
  if (absl::ConsumePrefix(&text, "-")) return absl::SimpleAtoi(text, last) && *last >= location->index;
  return text.empty();
}

}  // namespace

void Undo::Add(const Location& location, absl::string_view marks) {
  if (marks.empty()) return;
  auto entry = by_marks_.find(marks);
  if (entry == by_marks_.end()) entry = by_marks_.try_emplace(std::string(marks)).first;
  std::vector<Span>& spans = entry->second[location.graph];
  const bool joins = !spans.empty() && spans.back().first.section == location.section && spans.back().first.sub == 0 && location.sub == 0 &&
                     spans.back().last + 1 == location.index;
  if (joins) {
    spans.back().last = location.index;
  } else {
    spans.push_back({location, location.index});
  }
}

std::string Undo::Encode() const {
  std::string out = "1";
  if (opset_ != 0) absl::StrAppend(&out, ";opset=", opset_);
  for (const auto& [marks, graphs] : by_marks_) {
    for (const auto& [graph, spans] : graphs) {
      absl::StrAppend(&out, ";");
      if (graph != 0) absl::StrAppend(&out, "g", graph, ":");
      absl::string_view comma;
      for (const Span& span : spans) {
        absl::StrAppend(&out, std::exchange(comma, ","), absl::string_view(&span.first.section, 1), span.first.index);
        if (span.first.sub != 0) absl::StrAppend(&out, ".", span.first.sub);
        if (span.last > span.first.index) absl::StrAppend(&out, "-", span.last);
      }
      absl::StrAppend(&out, " ", Escape(marks));
    }
  }
  return out;
}

Undo Undo::Decode(absl::string_view text) {
  Undo undo;
  const std::vector<absl::string_view> entries = absl::StrSplit(text, ';');
  if (entries.empty() || entries[0] != "1") return undo;
  for (size_t e = 1; e < entries.size(); ++e) {
    absl::string_view entry = entries[e];
    if (absl::ConsumePrefix(&entry, "opset=")) {
      if (!absl::SimpleAtoi(entry, &undo.opset_)) undo.opset_ = 0;
      continue;
    }
    int graph = 0;
    if (absl::ConsumePrefix(&entry, "g")) {
      const size_t colon = entry.find(':');
      if (colon == absl::string_view::npos || !absl::SimpleAtoi(entry.substr(0, colon), &graph)) continue;
      entry.remove_prefix(colon + 1);
    }
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(entry, absl::MaxSplits(' ', 1));
    const std::string marks = Unescape(parts.second);
    for (const absl::string_view item : absl::StrSplit(parts.first, ',')) {
      Location location;
      int last = 0;
      if (!ParseLocation(item, graph, &location, &last)) continue;
      undo.ranges_.push_back({{location, last}, marks});
    }
  }
  std::stable_sort(undo.ranges_.begin(), undo.ranges_.end(),
                   [](const Range& a, const Range& b) { return a.places.first < b.places.first; });
  return undo;
}

absl::string_view Undo::Find(const Location& location) const {
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), location,
                             [](const Location& p, const Range& range) { return p < range.places.first; });
  if (it == ranges_.begin()) return {};
  --it;
  const Location& first = it->places.first;
  const bool same = first.section == location.section && first.graph == location.graph && first.sub == location.sub;
  return same && location.index <= it->places.last ? absl::string_view(it->marks) : absl::string_view();
}

std::string WithOriginalNode(absl::string_view node, absl::string_view marks) {
  if (node.empty()) return std::string(marks);
  return absl::StrCat(kNodeKey, absl::Base64Escape(node), marks.empty() ? "" : ";", marks);
}

std::string OriginalNode(absl::string_view marks) {
  std::string node;
  if (!absl::ConsumePrefix(&marks, kNodeKey) || !absl::Base64Unescape(marks.substr(0, marks.find(';')), &node)) node.clear();
  return node;
}

std::string AsMade(absl::string_view marks) { return absl::StrCat(kMade, marks.empty() ? "" : ";", marks); }
bool IsMade(absl::string_view marks) { return marks.substr(0, marks.find(';')) == kMade; }

std::string EncodeValueMarks(const ValueMarks& marks) {
  std::string out;
  if (marks.was != DType::kInvalid) absl::StrAppend(&out, "was=", Name(marks.was));
  if (marks.form != 0) absl::StrAppend(&out, out.empty() ? "" : " ", "form=", marks.form);
  if (!marks.at.has_value()) return out;
  absl::StrAppend(&out, out.empty() ? "" : " ", "at=", marks.at->offset, marks.at->has_offset ? "" : "o", marks.at->has_length ? "" : "l");
  if (marks.at->size != 0) absl::StrAppend(&out, " size=", marks.at->size);
  return out;
}

ValueMarks DecodeValueMarks(absl::string_view text) {
  ValueMarks marks;
  for (absl::string_view entry : absl::StrSplit(text, ' ')) {
    if (absl::ConsumePrefix(&entry, "was=")) marks.was = ParseDType(entry).value_or(DType::kInvalid);
    if (absl::ConsumePrefix(&entry, "form=") && !absl::SimpleAtoi(entry, &marks.form)) marks.form = 0;
    if (absl::ConsumePrefix(&entry, "at=")) {
      ValueMarks::External at;
      at.has_length = !absl::ConsumeSuffix(&entry, "l");
      at.has_offset = !absl::ConsumeSuffix(&entry, "o");
      if (absl::SimpleAtoi(entry, &at.offset)) marks.at = at;
    }
    if (absl::ConsumePrefix(&entry, "size=") && marks.at.has_value() && !absl::SimpleAtoi(entry, &marks.at->size)) marks.at->size = 0;
  }
  return marks;
}

}  // namespace ampc::onnx
