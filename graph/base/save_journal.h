// Journals of saves (atomic_file_set.h): what they say, and how whoever meets one does the rest of the save.
//
// Each folder with files of a save has a journal that names them. The one beside the head decides: from the moment that it is there the new
// files are what counts, and it names the journals of the other folders. A journal of another folder names the head's; where that is not
// there, the save has not happened. So no journal says anything of files outside of its own folder.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/atomic_file.h"

namespace ampc {

// A file of a save: names in the journal's folder. `old` is what the file that is replaced is called meanwhile.
struct JournalEntry {
  std::string temporary, old, target;
};

struct SaveJournal {
  std::string save;                   // the same in all journals of one save, and in no other's
  std::string head;                   // the head's journal, seen from this one's folder; "" in that journal itself
  std::vector<std::string> others;    // in the head's: the other journals, seen from its folder
  std::vector<JournalEntry> entries;  // the head is the last one of its folder
};

std::string JournalText(const SaveJournal& journal);
// Nothing for what is no whole journal, or names files that a save does not make.
std::optional<SaveJournal> ParseJournal(absl::string_view text);

// The files of a save in one folder. No name of a journal that was read leaves it.
class SaveFolder {
 public:
  SaveFolder(std::string directory, std::vector<JournalEntry> entries) : directory_(std::move(directory)), entries_(std::move(entries)) {}

  const std::string& directory() const { return directory_; }
  // Each gives errno or 0.
  int MoveAway() const;       // the files that are to be replaced, the last one first
  int MoveIn() const;         // what is not yet in its place, the last one last
  void MoveHeadAway() const;  // where it is not yet replaced
  void MoveBack() const;
  void RemoveOld() const;
  void RemoveTemporary() const;

 private:
  std::string At(const std::string& name) const;

  std::string directory_;
  std::vector<JournalEntry> entries_;
};

// Makes the journal at `path` and gives it open and locked, so that one process at a time moves the files. Waits for another save of the
// same head.
absl::StatusOr<int> WriteJournal(const std::string& path, const SaveJournal& journal, AtomicFileWriter::Options options);

// Does what is left of the save that the journal at `path` is of, once nobody else does, and removes it; nothing where there is none. A
// journal whose head's folder cannot be seen stays: nobody can say whether that save happened. IoError where files cannot be moved, or the
// folder of another journal is absent.
absl::Status FinishJournal(const std::string& path);

}  // namespace ampc
