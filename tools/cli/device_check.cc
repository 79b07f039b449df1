#include "tools/cli/device_check.h"

#include "absl/strings/str_cat.h"
#include "kernels/device/open_device.h"

namespace ampc {

absl::Status CheckDevice(const std::string& device, Console& console) {
  return OpenDevice(device, [&](const std::string& warning) { console.Note(absl::StrCat("ampc: warning: ", warning)); }).status();
}

}  // namespace ampc
