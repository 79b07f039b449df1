// Files that are nobody's yet: how they are made and named, and how those that killed processes left are found and removed.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace ampc {

// A file open for writing in a directory. If the file system can, it has no name until GiveName, so that nothing is left of a process
// that is killed; else it is `.ampc-<place>-<pid>-<number>.tmp` from the start, where <place> stands for this boot of this machine and its
// space of process numbers. A signal that ends the process removes what has a name (signal_cleanup.h). Move-only; the destructor closes it
// and removes the name that GiveName did not give away. Functions return errno or 0.
class TemporaryFile {
 public:
  // The first file in a directory removes from it what no live process can own.
  static int Create(const std::string& directory, TemporaryFile* file);
  TemporaryFile() = default;
  explicit TemporaryFile(int fd) : fd_(fd) {}  // any descriptor, closed in the end
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;
  ~TemporaryFile();

  int fd() const { return fd_; }  // -1 after Close
  // The path belongs to the caller then, who removes it (RemoveTemporary), or renames it and forgets it (KeepOnSignal of signal_cleanup.h).
  int GiveName(std::string* path);
  int Close();

 private:
  int fd_ = -1;
  std::string directory_;
  std::string name_;  // the path, empty while there is none or after it was given away
};

// Removes a file that has its name from GiveName.
void RemoveTemporary(const std::string& path);

// A path in `directory` that no other live process makes up: `.ampc-<place>-<pid>-<number>` and `suffix`, ".tmp" or ".old".
std::string FreshName(const std::string& directory, absl::string_view suffix);
// Does the name (without a directory) look like one of FreshName's?
bool IsFreshName(absl::string_view name, absl::string_view suffix);
// The journal in `directory` (atomic_file_set.h) of the file `of` in it: `.ampc-save-` and digits, short whatever the file is called.
std::string JournalName(const std::string& directory, absl::string_view of);
bool IsJournalName(absl::string_view name);
// Removes from `directory` what FreshName named for processes of this machine that no longer run, or, for others, what is older than a day.
// Nothing where there is a journal: it may need them.
void RemoveStale(const std::string& directory);

// "." for a name without a slash.
std::string DirectoryOf(const std::string& path);

}  // namespace ampc
