#include "tests/testlib/no_in_lines.h"

#include "absl/strings/cord.h"
#include "graph/base/error.h"

namespace ampc::testing {

absl::Status NoInLines(absl::string_view lines) {
  const absl::Status no = NoError("");
  absl::Status status(no.code(), lines);
  no.ForEachPayload([&status](absl::string_view url, const absl::Cord& payload) { status.SetPayload(url, payload); });
  return status;
}

}  // namespace ampc::testing
