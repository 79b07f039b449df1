#include "kernels/device/missing_library.h"

#include "absl/strings/cord.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

constexpr absl::string_view kMark = "ampc/missing_library";

}  // namespace

absl::Status MissingLibraryError(absl::string_view message) {
  absl::Status status = UnsupportedError(message);
  status.SetPayload(kMark, absl::Cord());
  return status;
}

bool IsMissingLibrary(const absl::Status& status) { return status.GetPayload(kMark).has_value(); }

bool MayFallBack(const absl::Status& status) { return ExitCodeOf(status) == ExitCode::kUnsupported && !IsMissingLibrary(status); }

}  // namespace ampc
