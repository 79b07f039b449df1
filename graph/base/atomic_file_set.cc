#include "graph/base/atomic_file_set.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/save_journal.h"
#include "graph/base/signal_cleanup.h"
#include "graph/base/status_macros.h"
#include "graph/base/temporary_file.h"

namespace ampc {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// No other save has it, also not one of a process that had this one's number before.
std::string NameOfSave() {
  return absl::StrCat(BaseName(FreshName("", "")), "-", std::chrono::system_clock::now().time_since_epoch().count());
}

std::string SeenFrom(const std::string& directory, const std::string& path) {
  const std::filesystem::path relative = std::filesystem::path(path).lexically_relative(directory);
  return relative.empty() ? path : relative.string();
}

}  // namespace

struct AtomicFileSet::Part {
  std::string directory, path;  // of its journal
  SaveJournal journal;
  int lock = -1;  // of the journal, once it is written

  SaveFolder folder() const { return SaveFolder(directory, journal.entries); }
  void RemoveJournal() {
    if (lock < 0) return;
    unlink(path.c_str());
    close(std::exchange(lock, -1));
  }
};

AtomicFileSet::~AtomicFileSet() {
  for (const AtomicFileWriter::Finished& f : files_) RemoveTemporary(f.temporary);
  for (size_t i = folders_.size(); i-- > 0;) rmdir(folders_[i].c_str());
}

absl::Status AtomicFileSet::Add(AtomicFileWriter file) {
  const size_t bytes = file.size();
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter::Finished finished, file.Finish());
  const bool in_memory = options_.memory != nullptr;
  if (in_memory || !finished.temporary.empty()) bytes_ += bytes;
  if (finished.temporary.empty()) return absl::OkStatus();
  files_.push_back(std::move(finished));
  return absl::OkStatus();
}

absl::Status AtomicFileSet::Add(const std::string& path, absl::string_view content) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path, options_));
  AMPC_RETURN_IF_ERROR(file.Append(content));
  return Add(std::move(file));
}

absl::Status AtomicFileSet::AddBefore(AtomicFileWriter file) {
  const size_t before = files_.size();
  AMPC_RETURN_IF_ERROR(Add(std::move(file)));
  if (files_.size() > before) std::rotate(files_.begin(), files_.end() - 1, files_.end());
  return absl::OkStatus();
}

absl::Status AtomicFileSet::AddBefore(const std::string& path, absl::string_view content) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path, options_));
  AMPC_RETURN_IF_ERROR(file.Append(content));
  return AddBefore(std::move(file));
}

absl::Status AtomicFileSet::MakeFolder(const std::string& path) {
  if (options_.memory != nullptr) return absl::OkStatus();
  int error = 0;
  for (size_t slash = 0; slash != std::string::npos;) {
    slash = path.find('/', slash + 1);
    const std::string folder = path.substr(0, slash);
    error = mkdir(folder.c_str(), 0777) == 0 ? 0 : errno;
    if (error == 0) folders_.push_back(folder);
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return SystemError(path, "be made", error);
  return S_ISDIR(info.st_mode) ? absl::OkStatus() : SystemError(path, "be made", ENOTDIR);
}

std::vector<std::string> AtomicFileSet::targets() const {
  std::vector<std::string> targets;
  for (const AtomicFileWriter::Finished& f : files_) targets.push_back(f.target);
  return targets;
}

absl::Status AtomicFileSet::CheckNames() const {
  std::vector<std::string> names = targets();
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ? absl::OkStatus()
                              : UsageError(absl::StrCat("two outputs are the same file '", *twice, "'; another name is needed"));
}

// The head's last.
std::vector<AtomicFileSet::Part> AtomicFileSet::MakeParts() const {
  const std::string& head = files_.back().target;
  const std::string directory = DirectoryOf(head), save = NameOfSave();
  std::map<std::string, std::vector<JournalEntry>> entries;
  for (const AtomicFileWriter::Finished& f : files_) {
    const std::string where = DirectoryOf(f.target);
    entries[where].push_back({BaseName(f.temporary), BaseName(FreshName(where, ".old")), BaseName(f.target)});
  }
  std::vector<Part> parts;
  Part last{directory,
            JournalName(directory, BaseName(head)),
            {.save = save, .head = "", .others = {}, .entries = std::move(entries[directory])}};
  entries.erase(directory);
  for (auto& [where, files] : entries) {
    parts.push_back(
        {where, JournalName(where, head), {.save = save, .head = SeenFrom(where, last.path), .others = {}, .entries = std::move(files)}});
    last.journal.others.push_back(SeenFrom(directory, parts.back().path));
  }
  parts.push_back(std::move(last));
  return parts;
}

// In an order that all saves have, so that no two wait for each other.
absl::Status AtomicFileSet::WriteJournals(std::vector<Part>& parts) const {
  for (Part& part : parts) {
    absl::StatusOr<int> lock = WriteJournal(part.path, part.journal, options_);
    if (!lock.ok()) return Annotate(lock.status(), files_.back().path);
    part.lock = *lock;
  }
  return absl::OkStatus();
}

// Moves all files into their places; none where one cannot be moved.
absl::Status AtomicFileSet::Replace(const std::vector<Part>& parts) {
  int error = 0;
  for (size_t i = parts.size(); i-- > 0 && error == 0;) error = parts[i].folder().MoveAway();
  for (size_t i = 0; i < parts.size() && error == 0; ++i) error = parts[i].folder().MoveIn();
  if (error != 0) {
    for (const Part& part : parts) part.folder().MoveBack();
    return SystemError(files_.back().path, "be replaced", error);
  }
  for (const AtomicFileWriter::Finished& f : files_) KeepOnSignal(f.temporary);
  CountReplaced(static_cast<int64_t>(files_.size()));
  files_.clear();
  folders_.clear();
  for (const Part& part : parts) {
    part.folder().RemoveOld();
    if (!options_.no_sync) SyncDirectory(part.directory).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status AtomicFileSet::Commit() {
  if (files_.empty()) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(CheckNames());
  std::vector<Part> parts = MakeParts();
  AMPC_RETURN_IF_ERROR(FinishJournal(parts.back().path));
  if (files_.size() == 1) {
    const AtomicFileWriter::Finished head = files_.back();
    files_.clear();
    AMPC_RETURN_IF_ERROR(head.Replace(options_));
    folders_.clear();
    return absl::OkStatus();
  }
  const DeferSignals whole;
  absl::Status status = WriteJournals(parts);
  if (status.ok()) status = Replace(parts);
  // The head's journal holds for the others: after a save it goes last, after a failure first.
  if (!status.ok()) std::reverse(parts.begin(), parts.end());
  for (Part& part : parts) part.RemoveJournal();
  return status;
}

absl::Status FinishSave(const std::string& head) {
  const std::string journal = JournalName(DirectoryOf(head), BaseName(head));
  return access(journal.c_str(), F_OK) == 0 ? FinishJournal(journal) : absl::OkStatus();
}

absl::Status FinishSavesIn(const std::string& directory) {
  DIR* dir = opendir(directory.c_str());
  if (dir == nullptr) return absl::OkStatus();
  std::vector<std::string> journals;
  while (const dirent* entry = readdir(dir)) {
    if (IsJournalName(entry->d_name)) journals.push_back(absl::StrCat(directory, "/", entry->d_name));
  }
  closedir(dir);
  std::sort(journals.begin(), journals.end());
  for (const std::string& journal : journals) AMPC_RETURN_IF_ERROR(FinishJournal(journal));
  return absl::OkStatus();
}

}  // namespace ampc
