#include "graph/amp_region.h"

#include "absl/strings/str_cat.h"

namespace ampc {
namespace {

constexpr absl::string_view kPrefix = "/amp_scope_";

}  // namespace

std::string AmpRegion(absl::string_view level) { return absl::StrCat(kPrefix, level, "_0"); }

std::string AmpRegionLevel(absl::string_view name_scope) {
  const size_t at = name_scope.rfind(kPrefix);
  if (at == absl::string_view::npos || at + kPrefix.size() + 2 > name_scope.size()) return "";
  return std::string(name_scope.substr(at + kPrefix.size(), 2));
}

bool HasAmpRegions(const Program& program) {
  bool any = false;
  ForEachOp(program, [&any](const Op& op) { any = any || !AmpRegionLevel(op.GetString("op_namescope")).empty(); });
  return any;
}

}  // namespace ampc
