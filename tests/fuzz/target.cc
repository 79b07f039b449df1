#include "tests/fuzz/target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/fnv.h"

namespace ampc::fuzz {

#define AMPC_FUZZ_TARGET(Run, name, reads) absl::Status Run(absl::string_view bytes);
#include "tests/fuzz/all_targets.inc"
#undef AMPC_FUZZ_TARGET

std::span<const Target> AllTargets() {
#define AMPC_FUZZ_TARGET(Run, name, reads) {name, reads, Run},
  static constexpr Target kTargets[] = {
#include "tests/fuzz/all_targets.inc"
  };
#undef AMPC_FUZZ_TARGET
  return kTargets;
}

const Target* FindTarget(absl::string_view name) {
  for (const Target& target : AllTargets()) {
    if (name == target.name) return &target;
  }
  return nullptr;
}

namespace {
// libFuzzer takes these for branches, and sets them back before each execution.
__attribute__((section("__libfuzzer_extra_counters"), used)) uint8_t outcomes[1 << 15];
}  // namespace

void RecordOutcome(absl::string_view outcome) {
  std::string kind;
  bool quoted = false;
  for (const char c : outcome) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) kind.push_back(c);
  }
  outcomes[Fnv1a(kind) % sizeof(outcomes)] = 1;
}

absl::Status CheckPolite(const absl::Status& status) {
  RecordOutcome(status.message());
  if (status.ok()) return status;
  const ExitCode code = ExitCodeOf(status);
  if (code != ExitCode::kBadInput && code != ExitCode::kUnsupported && code != ExitCode::kUsage) {
    return InternalError(
        absl::StrCat("an error with exit code ", static_cast<int>(code), " where the file is at fault: ", status.message()));
  }
  if (status.message().empty()) return InternalError("an error without a sentence");
  if (status.message().find('\n') != absl::string_view::npos)
    return InternalError(absl::StrCat("an error of several lines: ", status.message()));
  return absl::OkStatus();
}

MemoryFile::MemoryFile() : fd_(memfd_create("ampc-fuzz", MFD_CLOEXEC)), path_(absl::StrCat("/proc/self/fd/", fd_)) {
  if (fd_ < 0) std::abort();
}

MemoryFile::~MemoryFile() { close(fd_); }

void MemoryFile::Set(absl::string_view bytes) {
  const bool done = ftruncate(fd_, static_cast<off_t>(bytes.size())) == 0 &&
                    pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  if (!done) std::abort();
}

}  // namespace ampc::fuzz
