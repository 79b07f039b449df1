// A fuzz target: what one reader must survive, whatever bytes it is given.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ampc::fuzz {

// `run` fails if the reader broke its contract: an error of another kind than the caller's fault, of several lines, or something read that
// cannot be written. To refuse the bytes is fine.
struct Target {
  const char* name;  // also the folder below seeds/
  const char* reads;
  absl::Status (*run)(absl::string_view bytes);
};

std::span<const Target> AllTargets();
const Target* FindTarget(absl::string_view name);  // null for none

// Says how an execution ended. libFuzzer keeps the first input that tells a thing, as it does for a branch; numbers and what stands in
// quotes do not count.
void RecordOutcome(absl::string_view outcome);

// Ok for ok and for an error that may be said of a file: exit code 2 to 4, one line. Records its outcome.
absl::Status CheckPolite(const absl::Status& status);

// Bytes that a reader can open by name, in memory only. Set replaces them.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }
  void Set(absl::string_view bytes);

 private:
  int fd_;
  std::string path_;
};

}  // namespace ampc::fuzz
