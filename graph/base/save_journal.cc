#include "graph/base/save_journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/base/temporary_file.h"

namespace ampc {
namespace {

constexpr absl::string_view kMagic = "ampc-save 2";
constexpr absl::string_view kEnd = "end";
constexpr absl::string_view kSeparator("\0", 1);
constexpr size_t kWordsBefore = 4;  // the magic, the save, the head's journal, the number of other journals
constexpr off_t kMaxJournalBytes = off_t{1} << 28;
constexpr int kMaxAttempts = 1000;

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string Join(const std::string& directory, const std::string& name) { return absl::StrCat(directory, "/", name); }

bool IsJournalPath(absl::string_view path) { return IsJournalName(path.substr(path.rfind('/') + 1)); }

int OpenJournal(const std::string& path) { return open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK); }

// An open journal that this process has locked. Gives -1 where it is gone.
int LockJournal(const std::string& path, int* error) {
  *error = 0;
  for (;;) {
    const int fd = OpenJournal(path);
    if (fd < 0) {
      if (errno != ENOENT) *error = errno;
      return -1;
    }
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat mine, there;
    if (fstat(fd, &mine) == 0 && lstat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino && mine.st_dev == there.st_dev) return fd;
    close(fd);  // its owner has finished meanwhile
  }
}

std::string ReadAll(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > kMaxJournalBytes) return "";
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = pread(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got <= 0) return "";
    done += static_cast<size_t>(got);
  }
  return text;
}

// Is the journal of that save at `path`? Without a lock, as a journal never changes.
bool IsOfSave(const std::string& path, const std::string& save) {
  const int fd = OpenJournal(path);
  if (fd < 0) return false;
  const std::optional<SaveJournal> journal = ParseJournal(ReadAll(fd));
  close(fd);
  return journal.has_value() && journal->save == save;
}

// Has the save happened whose head's journal is `head`? Nothing where that cannot be seen from here.
std::optional<bool> Happened(const std::string& head, const std::string& save) {
  if (access(head.c_str(), R_OK) == 0) return IsOfSave(head, save);
  if (errno != ENOENT || !Exists(DirectoryOf(head))) return std::nullopt;
  return false;
}

int MoveInAll(const SaveFolder& folder) {
  if (const int error = folder.MoveIn(); error != 0) return error;
  folder.RemoveOld();
  SyncDirectory(folder.directory()).IgnoreError();
  return 0;
}

// The journal at `path` of a save that has happened. Only a journal of that save is waited for: its owner waits for nobody then.
absl::Status FinishOther(const std::string& path, const std::string& save) {
  if (!IsOfSave(path, save)) return absl::OkStatus();
  int error = 0;
  const int fd = LockJournal(path, &error);
  if (fd >= 0) {
    std::optional<SaveJournal> journal = ParseJournal(ReadAll(fd));
    if (journal.has_value() && journal->save == save) {
      error = MoveInAll(SaveFolder(DirectoryOf(path), std::move(journal->entries)));
      if (error == 0 && unlink(path.c_str()) != 0) error = errno;
    }
    close(fd);
  }
  return error == 0 ? absl::OkStatus() : SystemError(path, "finish an interrupted save", error);
}

absl::Status FinishHead(const std::string& path, const SaveJournal& journal) {
  const SaveFolder folder(DirectoryOf(path), journal.entries);
  for (const std::string& other : journal.others) {
    const std::string directory = DirectoryOf(Join(folder.directory(), other));
    if (Exists(directory)) continue;
    return IoError(
        absl::StrCat(path, ": cannot finish an interrupted save: needs the folder '", directory, "' with the rest of it, which is absent"));
  }
  folder.MoveHeadAway();
  for (const std::string& other : journal.others) AMPC_RETURN_IF_ERROR(FinishOther(Join(folder.directory(), other), journal.save));
  const int error = MoveInAll(folder);
  return error == 0 ? absl::OkStatus() : SystemError(path, "finish an interrupted save", error);
}

}  // namespace

std::string JournalText(const SaveJournal& journal) {
  std::string text;
  const auto word = [&text](absl::string_view what) { absl::StrAppend(&text, what, kSeparator); };
  word(kMagic);
  word(journal.save);
  word(journal.head);
  word(absl::StrCat(journal.others.size()));
  for (const std::string& other : journal.others) word(other);
  for (const JournalEntry& e : journal.entries) {
    for (const std::string* name : {&e.temporary, &e.old, &e.target}) word(*name);
  }
  return absl::StrCat(text, kEnd);
}

std::optional<SaveJournal> ParseJournal(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, '\0');
  uint64_t others = 0;
  if (words.size() <= kWordsBefore || words.front() != kMagic || words.back() != kEnd) return std::nullopt;
  if (!absl::SimpleAtoi(words[3], &others) || words[3] != absl::StrCat(others) || others > words.size() - kWordsBefore - 1)
    return std::nullopt;
  SaveJournal journal{.save = std::string(words[1]), .head = std::string(words[2]), .others = {}, .entries = {}};
  if (!journal.head.empty() && !IsJournalPath(journal.head)) return std::nullopt;
  size_t i = kWordsBefore;
  for (; i < kWordsBefore + others; ++i) {
    if (!IsJournalPath(words[i])) return std::nullopt;
    journal.others.emplace_back(words[i]);
  }
  if (i + 1 == words.size() || (words.size() - 1 - i) % 3 != 0) return std::nullopt;
  for (; i + 1 < words.size(); i += 3) {
    const absl::string_view target = words[i + 2];
    const bool plain = !target.empty() && target != "." && target != ".." && target.find('/') == absl::string_view::npos &&
                       !absl::StartsWith(target, ".ampc-");
    if (!plain || !IsFreshName(words[i], ".tmp") || !IsFreshName(words[i + 1], ".old")) return std::nullopt;
    journal.entries.push_back({std::string(words[i]), std::string(words[i + 1]), std::string(target)});
  }
  return journal;
}

std::string SaveFolder::At(const std::string& name) const { return Join(directory_, name); }

int SaveFolder::MoveAway() const {
  for (size_t i = entries_.size(); i-- > 0;) {
    struct stat info;
    if (lstat(At(entries_[i].target).c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return EISDIR;
    if (rename(At(entries_[i].target).c_str(), At(entries_[i].old).c_str()) != 0 && errno != ENOENT) return errno;
  }
  return 0;
}

int SaveFolder::MoveIn() const {
  for (const JournalEntry& e : entries_) {
    if (rename(At(e.temporary).c_str(), At(e.target).c_str()) != 0 && errno != ENOENT) return errno;
  }
  return 0;
}

void SaveFolder::MoveHeadAway() const {
  const JournalEntry& head = entries_.back();
  if (Exists(At(head.temporary))) (void)!rename(At(head.target).c_str(), At(head.old).c_str());
}

void SaveFolder::MoveBack() const {
  for (const JournalEntry& e : entries_) (void)!rename(At(e.old).c_str(), At(e.target).c_str());
}

void SaveFolder::RemoveOld() const {
  for (const JournalEntry& e : entries_) unlink(At(e.old).c_str());
}

void SaveFolder::RemoveTemporary() const {
  for (const JournalEntry& e : entries_) unlink(At(e.temporary).c_str());
}

absl::StatusOr<int> WriteJournal(const std::string& path, const SaveJournal& journal, AtomicFileWriter::Options options) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path, options));
  AMPC_RETURN_IF_ERROR(file.Append(JournalText(journal)));
  AMPC_ASSIGN_OR_RETURN(const AtomicFileWriter::Finished finished, file.Finish());
  const std::string& temporary = finished.temporary;
  const int fd = open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  absl::Status status = fd >= 0 ? absl::OkStatus() : SystemError(path, "be opened", errno);
  if (fd >= 0) (void)!flock(fd, LOCK_EX);  // a file system without locks has saves of one head at once go wrong, not this one
  for (int attempt = 0; status.ok() && link(temporary.c_str(), path.c_str()) != 0; ++attempt) {
    const bool no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;
    if (no_links && rename(temporary.c_str(), path.c_str()) == 0) break;
    status = errno == EEXIST && attempt < kMaxAttempts ? FinishJournal(path) : SystemError(path, "be written", errno);
    RemoveStale(DirectoryOf(path));  // it could not while that journal was there
  }
  RemoveTemporary(temporary);
  if (status.ok()) {
    if (!options.no_sync) SyncDirectory(DirectoryOf(path)).IgnoreError();
    return fd;
  }
  if (fd >= 0) close(fd);
  return status;
}

absl::Status FinishJournal(const std::string& path) {
  int error = 0;
  const int fd = LockJournal(path, &error);
  if (fd < 0) return error == 0 ? absl::OkStatus() : SystemError(path, "be read", error);
  const std::optional<SaveJournal> journal = ParseJournal(ReadAll(fd));
  absl::Status status;
  bool stays = false;
  if (journal.has_value() && journal->head.empty()) {
    status = FinishHead(path, *journal);
  } else if (journal.has_value()) {
    const SaveFolder folder(DirectoryOf(path), journal->entries);
    const std::optional<bool> happened = Happened(Join(folder.directory(), journal->head), journal->save);
    stays = !happened.has_value();
    if (happened == true) error = MoveInAll(folder);
    if (happened == false) folder.RemoveTemporary();
  }
  if (status.ok() && error == 0 && !stays && unlink(path.c_str()) != 0) error = errno;
  close(fd);
  return error == 0 ? status : SystemError(path, "finish an interrupted save", error);
}

}  // namespace ampc
