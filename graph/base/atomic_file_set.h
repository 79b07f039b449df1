// Several files replaced as one: a model's program and its weights, and what is written with them.
//
// No system call renames two files at once. So the set is first written whole under temporary names; then a journal, `.ampc-save-*` beside
// the head, says which temporary file becomes which (save_journal.h); from then on the new files are what counts. A process that dies after
// that has lost nothing: whoever opens the head through FinishSave, or saves it again, first does the rest. While files are moved the head
// is absent, so that a program that knows nothing of journals finds no model rather than a program with another model's weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/atomic_file.h"

namespace ampc {

// Destroyed without Commit(), it leaves the targets as they were and nothing else.
class AtomicFileSet {
 public:
  explicit AtomicFileSet(AtomicFileWriter::Options options = {}) : options_(options) {}
  AtomicFileSet(const AtomicFileSet&) = delete;
  AtomicFileSet& operator=(const AtomicFileSet&) = delete;
  ~AtomicFileSet();

  // The complete content of a file. The last one added is the head.
  absl::Status Add(AtomicFileWriter file);
  absl::Status Add(const std::string& path, absl::string_view content);
  // The same for a file that is written with a model and is not its head.
  absl::Status AddBefore(AtomicFileWriter file);
  absl::Status AddBefore(const std::string& path, absl::string_view content);
  // Makes a folder for files of the set, and those that it lies in. IoError where it cannot be made.
  absl::Status MakeFolder(const std::string& path);

  // The files added so far, with symbolic links followed; devices and pipes, which are written at once, are not among them.
  std::vector<std::string> targets() const;
  uint64_t bytes() const { return bytes_; }  // of these files

  // Call once, last. Usage where two files have one name; IoError where a file cannot be replaced. Then all are the old ones.
  absl::Status Commit();

 private:
  struct Part;  // the files of one folder
  absl::Status CheckNames() const;
  std::vector<Part> MakeParts() const;
  absl::Status WriteJournals(std::vector<Part>& parts) const;
  absl::Status Replace(const std::vector<Part>& parts);

  std::vector<AtomicFileWriter::Finished> files_;
  std::vector<std::string> folders_;  // made, the outermost first
  uint64_t bytes_ = 0;
  AtomicFileWriter::Options options_;
};

// Does what is left of an interrupted save of the file `head`, waiting for one that goes on; costs one system call where there is none.
// IoError where a directory cannot be written.
absl::Status FinishSave(const std::string& head);
// The same for every head in a directory.
absl::Status FinishSavesIn(const std::string& directory);

}  // namespace ampc
