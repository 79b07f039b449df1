#include "graph/base/error.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/base/utf8.h"

namespace ampc {
namespace {

constexpr char kExitCodeUrl[] = "ampc/exit_code";

absl::Status Make(absl::StatusCode code, ExitCode exit_code, absl::string_view message) {
  absl::Status status(code, Printable(message));
  status.SetPayload(kExitCodeUrl, absl::Cord(absl::StrCat(static_cast<int>(exit_code))));
  return status;
}

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Levenshtein distance ignoring case, where a swap of two neighbours counts one; stops early above `limit`.
size_t EditDistance(absl::string_view a, absl::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    size_t smallest = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = Lower(a[i - 1]) == Lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) && Lower(a[i - 2]) == Lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
      smallest = std::min(smallest, row[j]);
    }
    if (smallest > limit) return limit + 1;
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

template <typename String>
std::string SuggestFrom(absl::string_view name, std::span<const String> names) {
  const size_t limit = std::clamp<size_t>(name.size() / 3, 1, 3);
  size_t best = limit + 1;
  absl::string_view found;
  for (const String& candidate : names) {
    if (candidate.empty()) continue;
    const size_t distance = EditDistance(name, candidate, best - 1);
    if (distance >= best) continue;
    best = distance;
    found = candidate;
    if (best == 0) break;
  }
  if (best > limit || found.empty() || best >= name.size()) return "";
  return absl::StrCat(", did you mean '", found, "'?");
}

}  // namespace

absl::Status NoError(absl::string_view message) { return Make(absl::StatusCode::kFailedPrecondition, ExitCode::kNo, message); }
absl::Status UsageError(absl::string_view message) { return Make(absl::StatusCode::kInvalidArgument, ExitCode::kUsage, message); }
absl::Status BadInputError(absl::string_view message) { return Make(absl::StatusCode::kNotFound, ExitCode::kBadInput, message); }
absl::Status UnsupportedError(absl::string_view message) { return Make(absl::StatusCode::kUnimplemented, ExitCode::kUnsupported, message); }
absl::Status IoError(absl::string_view message) { return Make(absl::StatusCode::kDataLoss, ExitCode::kInternal, message); }
absl::Status InternalError(absl::string_view message) { return Make(absl::StatusCode::kInternal, ExitCode::kInternal, message); }
absl::Status SystemError(absl::string_view path, absl::string_view what, int error) {
  return IoError(absl::StrCat(path, ": cannot ", what, ": ", std::strerror(error)));
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kOk;
  if (auto payload = status.GetPayload(kExitCodeUrl); payload.has_value()) {
    const std::string digits(*payload);
    if (digits.size() == 1 && digits[0] >= '1' && digits[0] <= '5') return static_cast<ExitCode>(digits[0] - '0');
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument: return ExitCode::kUsage;
    case absl::StatusCode::kNotFound: return ExitCode::kBadInput;
    case absl::StatusCode::kUnimplemented: return ExitCode::kUnsupported;
    default: return ExitCode::kInternal;
  }
}

absl::Status Annotate(const absl::Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(Printable(prefix), ": ", status.message()));
  status.ForEachPayload([&annotated](absl::string_view url, const absl::Cord& payload) { annotated.SetPayload(url, payload); });
  return annotated;
}

std::string Suggest(absl::string_view name, std::span<const std::string> names) { return SuggestFrom(name, names); }
std::string Suggest(absl::string_view name, std::span<const absl::string_view> names) { return SuggestFrom(name, names); }

}  // namespace ampc
