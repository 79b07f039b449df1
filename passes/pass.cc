#include "passes/pass.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {

absl::Status PassRegistry::Add(PassInfo info) {
  std::string name = info.name;
  if (!passes_.emplace(name, std::move(info)).second) {
    return InternalError(absl::StrCat("pass '", name, "' is registered twice"));
  }
  return absl::OkStatus();
}

const PassInfo* PassRegistry::Find(absl::string_view name) const {
  auto it = passes_.find(name);
  return it == passes_.end() ? nullptr : &it->second;
}

std::vector<const PassInfo*> PassRegistry::All() const {
  std::vector<const PassInfo*> out;
  out.reserve(passes_.size());
  for (const auto& [name, info] : passes_) out.push_back(&info);
  return out;
}

}  // namespace ampc
