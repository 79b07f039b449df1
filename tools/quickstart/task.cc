#include "tools/quickstart/task.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

// Index of the largest value, -1 when one is not finite.
int64_t Best(absl::Span<const float> values) {
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) return -1;
  return std::max_element(values.begin(), values.end()) - values.begin();
}

absl::Status CheckShape(const HostTensor& t, int rank, size_t classes) {
  if (t.dtype() == DType::kF32 && t.rank() == rank && t.dims().back() == static_cast<int64_t>(classes)) return absl::OkStatus();
  return UsageError(absl::StrCat("the output is ", Name(t.dtype()), " ", ShapeToString(t.dims()), ", f32 of rank ", rank, " with ", classes, " classes is needed"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadCharset(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  std::vector<std::string> charset = {""};
  for (absl::string_view line : absl::StrSplit(file.text(), '\n')) charset.emplace_back(line);
  if (charset.size() > 1 && charset.back().empty()) charset.pop_back();
  charset.emplace_back(" ");
  return charset;
}

absl::StatusOr<std::vector<std::string>> DecodeText(const HostTensor& probabilities, const std::vector<std::string>& charset) {
  AMPC_RETURN_IF_ERROR(CheckShape(probabilities, 3, charset.size()));
  const int64_t steps = probabilities.dims()[1];
  std::vector<std::string> texts;
  for (int64_t b = 0; b < probabilities.dims()[0]; ++b) {
    std::string text;
    int64_t previous = 0;
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t best = Best(probabilities.values<float>().subspan((b * steps + t) * charset.size(), charset.size()));
      if (best != previous) absl::StrAppend(&text, best < 0 ? "?" : charset[best]);
      previous = best;
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

absl::StatusOr<std::vector<std::string>> DecodeClass(const HostTensor& probabilities, const std::vector<std::string>& labels) {
  AMPC_RETURN_IF_ERROR(CheckShape(probabilities, 2, labels.size()));
  std::vector<std::string> classes;
  for (int64_t b = 0; b < probabilities.dims()[0]; ++b) {
    const int64_t best = Best(probabilities.values<float>().subspan(b * labels.size(), labels.size()));
    classes.push_back(best < 0 ? "?" : labels[best]);
  }
  return classes;
}

}  // namespace ampc
