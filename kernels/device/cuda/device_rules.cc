#include "kernels/device/cuda/device_rules.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

// "T600", "MX450": the prefix and at least three digits.
bool IsModel(absl::string_view word, absl::string_view prefix) {
  if (!absl::StartsWith(word, prefix) || word.size() < prefix.size() + 3) return false;
  for (size_t i = prefix.size(); i < prefix.size() + 3; ++i) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(word[i]))) return false;
  }
  return true;
}

}  // namespace

bool HasTensorCores(int major, int minor, const std::string& name) {
  if (major < 7) return false;
  if (major > 7 || minor != 5) return true;
  if (absl::StrContains(name, "GTX 16")) return false;
  for (const absl::string_view word : absl::StrSplit(name, ' ')) {
    if (IsModel(word, "T") || IsModel(word, "MX")) return false;
  }
  return true;
}

absl::Status CheckCapability(const std::string& name, const DeviceInfo& info) {
  if (info.major > 7 || (info.major == 7 && info.minor >= 5)) return absl::OkStatus();
  return UnsupportedError(
      absl::StrCat(name, " is a ", info.name, " of compute capability ", info.major, ".", info.minor, ", and 7.5 is needed"));
}

}  // namespace ampc
