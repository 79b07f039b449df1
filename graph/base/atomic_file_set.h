// Several files replaced as one: a model's program and its weights.
//
// No system call renames two files at once. So the set is first written whole under temporary names; then a journal, `.ampc-save-*` beside
// the head, says which temporary file becomes which; from then on the new files are what counts. A process that dies after that has lost
// nothing: whoever opens the head through FinishSave, or saves it again, first does the rest. While files are moved the head is absent, so
// that a program that knows nothing of journals finds no model rather than a program with another model's weights.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/atomic_file.h"

namespace ampc {

// What a journal says: names in its own directory. `old` is what the file that is replaced is called meanwhile.
struct JournalEntry {
  std::string temporary, old, target;
};
std::string JournalText(const std::vector<JournalEntry>& entries);
// Empty for what is no whole journal, or names files that a save does not make.
std::vector<JournalEntry> ParseJournal(absl::string_view text);

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

  // Call once, last. IoError where a file cannot be replaced; then all are the old ones. What is not in the head's directory cannot stand
  // in its journal: a set with such a file is replaced in the same order, but a process that dies meanwhile leaves no head.
  absl::Status Commit();

 private:
  absl::Status Replace(const std::string& directory, const std::vector<JournalEntry>& entries);

  std::vector<AtomicFileWriter::Finished> files_;
  AtomicFileWriter::Options options_;
};

// Does what is left of an interrupted save of the file `head`, waiting for one that goes on; costs one system call where there is none.
// IoError where the directory cannot be written.
absl::Status FinishSave(const std::string& head);
// The same for every head in a directory.
absl::Status FinishSavesIn(const std::string& directory);

}  // namespace ampc
