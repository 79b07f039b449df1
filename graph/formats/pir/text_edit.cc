#include "graph/formats/pir/text_edit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/json_writer.h"

namespace ampc::pir {

void TextEdit::SetLastMember(JsonRef object, absl::string_view key, absl::string_view value) {
  const JsonRef had = object.Find(key);
  if (had.exists() && had.IsString(value)) return;
  if (had.exists() && !value.empty()) return Replace(had, JsonQuote(value));
  if (!had.exists() && value.empty()) return;
  if (!had.exists()) {
    const size_t end = object.end_offset() - 1;
    return Replace(end, end, absl::StrCat(",", JsonQuote(key), ":", JsonQuote(value)));
  }
  // With the comma in front of its key.
  const size_t comma = tape_.text().rfind(',', tape_.nodes()[had.node() - 1].begin);
  Replace(comma, had.end_offset(), "");
}

std::string TextEdit::Apply(size_t begin, size_t end) const {
  std::vector<const Part*> inside;
  for (const Part& part : parts_) {
    if (part.begin >= begin && part.end <= end) inside.push_back(&part);
  }
  std::sort(inside.begin(), inside.end(), [](const Part* a, const Part* b) { return a->begin < b->begin; });
  std::string out;
  size_t at = begin;
  for (const Part* part : inside) {
    absl::StrAppend(&out, tape_.text().substr(at, part->begin - at), part->text);
    at = part->end;
  }
  absl::StrAppend(&out, tape_.text().substr(at, end - at));
  return out;
}

}  // namespace ampc::pir
