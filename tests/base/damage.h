// Damaged copies of a small file, to test that a reader refuses or survives each.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "graph/base/error.h"

namespace ampc {

// Calls `visit(content, what)` with every proper prefix of `file` and with every single-bit change of it.
template <typename Visit>
void ForEachDamage(const std::string& file, Visit visit) {
  for (size_t size = 0; size < file.size(); ++size) visit(file.substr(0, size), "cut to " + std::to_string(size));
  std::string changed = file;
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    visit(changed, "bit " + std::to_string(bit));
    changed[bit / 8] = file[bit / 8];
  }
}

// An error about a file: exit code 3 or 4, one line that begins with the file's name.
inline void ExpectFileError(const absl::Status& status, const std::string& path, const std::string& what) {
  const ExitCode code = ExitCodeOf(status);
  EXPECT_TRUE(code == ExitCode::kBadInput || code == ExitCode::kUnsupported) << what << ": " << status;
  EXPECT_EQ(status.message().substr(0, path.size() + 2), path + ": ") << what;
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << what << ": " << status;
}

}  // namespace ampc
