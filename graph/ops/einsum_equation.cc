#include "graph/ops/einsum_equation.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"

namespace ampc::ops {
namespace {

// The labels of one term; an ellipsis stands for `ellipsis` dimensions.
absl::StatusOr<std::vector<int>> Labels(absl::string_view term, int ellipsis) {
  std::vector<int> labels;
  bool seen = false;
  while (!term.empty()) {
    if (absl::ConsumePrefix(&term, "...")) {
      if (seen) return BadInputError("a term has two ellipses");
      seen = true;
      for (int i = ellipsis - 1; i >= 0; --i) labels.push_back(i);
    } else if (absl::ascii_isalpha(static_cast<unsigned char>(term[0]))) {
      labels.push_back(term[0]);
      term.remove_prefix(1);
    } else {
      return BadInputError(absl::StrCat("'", term.substr(0, 1), "' is neither a letter nor an ellipsis"));
    }
  }
  return labels;
}

}  // namespace

absl::StatusOr<EinsumEquation> ParseEinsum(absl::string_view equation, absl::Span<const int> ranks) {
  const std::string dense = absl::StrReplaceAll(equation, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(dense, "->");
  if (sides.size() > 2) return BadInputError("it has more than one '->'");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (terms.size() != ranks.size()) return BadInputError(absl::StrCat("it has ", terms.size(), " terms, needs ", ranks.size()));
  EinsumEquation e;
  int ellipsis = 0;  // dimensions of the longest
  std::map<int, int> uses;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool open = terms[i].find('.') != std::string::npos;
    const int letters = static_cast<int>(terms[i].size()) - (open ? 3 : 0);
    if (open ? letters > ranks[i] : letters != ranks[i]) {
      return BadInputError(absl::StrCat("term ", i, " has ", letters, " labels, needs ", ranks[i], ", the rank of its operand"));
    }
    absl::StatusOr<std::vector<int>> labels = Labels(terms[i], ranks[i] - letters);
    if (!labels.ok()) return labels.status();
    if (open) ellipsis = std::max(ellipsis, ranks[i] - letters);
    for (int label : *labels) ++uses[label];
    e.operands.push_back(*std::move(labels));
  }
  if (sides.size() == 2) {
    absl::StatusOr<std::vector<int>> labels = Labels(sides[1], ellipsis);
    if (!labels.ok()) return labels.status();
    e.result = *std::move(labels);
  } else {
    for (int i = ellipsis - 1; i >= 0; --i) e.result.push_back(i);
    for (const auto& [label, count] : uses) {
      if (!IsEllipsisLabel(label) && count == 1) e.result.push_back(label);
    }
  }
  for (size_t i = 0; i < e.result.size(); ++i) {
    if (uses.count(e.result[i]) == 0)
      return BadInputError(absl::StrCat("the result has '", std::string(1, static_cast<char>(e.result[i])), "', which no operand has"));
    if (std::count(e.result.begin(), e.result.end(), e.result[i]) > 1) return BadInputError("the result has a label twice");
  }
  return e;
}

}  // namespace ampc::ops
