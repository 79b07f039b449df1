#include "kernels/device/open_device.h"

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

std::map<std::string, OpenBackendFn>& Backends() {
  static auto* const backends = new std::map<std::string, OpenBackendFn>;
  return *backends;
}

}  // namespace

absl::StatusOr<DeviceTarget> OpenDevice(const std::string& name) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(name, absl::MaxSplits(':', 1));
  int index = 0;
  if (!parts.second.empty() && !absl::SimpleAtoi(parts.second, &index)) {
    return UsageError(absl::StrCat("device '", name, "' is not of the form cpu, cuda or cuda:N"));
  }
  const auto backend = Backends().find(parts.first);
  if (backend == Backends().end()) return UnsupportedError(absl::StrCat("device '", name, "' is not supported by this build; supported: cpu"));
  return backend->second(index);
}

void AddDeviceBackend(const std::string& name, OpenBackendFn open) { Backends()[name] = open; }

}  // namespace ampc
