#include "graph/base/atomic_file_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/base/temporary_file.h"

namespace ampc {
namespace {

constexpr absl::string_view kMagic = "ampc-save 1";
constexpr absl::string_view kEnd = "end";
constexpr off_t kMaxJournalBytes = off_t{1} << 28;

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The names of a journal in its directory. No name that is read leaves it.
class Files {
 public:
  Files(std::string directory, std::vector<JournalEntry> entries) : directory_(std::move(directory)), entries_(std::move(entries)) {}

  const std::string& directory() const { return directory_; }
  const std::vector<JournalEntry>& entries() const { return entries_; }
  std::string At(const std::string& name) const { return absl::StrCat(directory_, "/", name); }

  // Moves the files that are to be replaced away, the head first.
  int MoveAway() const {
    for (size_t i = entries_.size(); i-- > 0;) {
      struct stat info;
      if (lstat(At(entries_[i].target).c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return EISDIR;
      if (rename(At(entries_[i].target).c_str(), At(entries_[i].old).c_str()) != 0 && errno != ENOENT) return errno;
    }
    return 0;
  }
  void MoveBack() const {
    for (const JournalEntry& e : entries_) (void)!rename(At(e.old).c_str(), At(e.target).c_str());
  }

  // Moves what is not yet in its place there, the head last.
  int MoveIn() const {
    const JournalEntry& head = entries_.back();
    if (Exists(At(head.temporary))) (void)!rename(At(head.target).c_str(), At(head.old).c_str());
    for (const JournalEntry& e : entries_) {
      if (rename(At(e.temporary).c_str(), At(e.target).c_str()) != 0 && errno != ENOENT) return errno;
    }
    return 0;
  }

  void RemoveOld() const {
    for (const JournalEntry& e : entries_) unlink(At(e.old).c_str());
  }

 private:
  std::string directory_;
  std::vector<JournalEntry> entries_;
};

// An open journal that this process has locked, so that one process at a time moves the files. Gives -1 where it is gone.
int LockJournal(const std::string& path, int* error) {
  *error = 0;
  for (;;) {
    const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
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

absl::Status FinishJournal(const std::string& path) {
  int error = 0;
  const int fd = LockJournal(path, &error);
  if (fd < 0) return error == 0 ? absl::OkStatus() : SystemError(path, "be read", error);
  std::vector<JournalEntry> entries = ParseJournal(ReadAll(fd));
  if (!entries.empty()) {
    const Files files(DirectoryOf(path), std::move(entries));
    error = files.MoveIn();
    if (error == 0) files.RemoveOld();
    SyncDirectory(files.directory()).IgnoreError();
  }
  if (error == 0 && unlink(path.c_str()) != 0) error = errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : SystemError(path, "finish an interrupted save", error);
}

// Makes the journal at `path` and gives it open and locked. Waits for another save of the same head.
absl::StatusOr<int> WriteJournal(const std::string& path, const std::string& text, AtomicFileWriter::Options options) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path, options));
  AMPC_RETURN_IF_ERROR(file.Append(text));
  AMPC_ASSIGN_OR_RETURN(const AtomicFileWriter::Finished finished, file.Finish());
  const std::string& temporary = finished.temporary;
  const int fd = open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  absl::Status status = fd >= 0 ? absl::OkStatus() : SystemError(path, "be opened", errno);
  if (fd >= 0) (void)!flock(fd, LOCK_EX);  // a file system without locks has saves of one head at once go wrong, not this one
  while (status.ok() && link(temporary.c_str(), path.c_str()) != 0) {
    const bool no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;
    if (no_links && rename(temporary.c_str(), path.c_str()) == 0) break;
    status = errno == EEXIST ? FinishJournal(path) : SystemError(path, "be written", errno);
  }
  unlink(temporary.c_str());
  if (status.ok()) return fd;
  if (fd >= 0) close(fd);
  return status;
}

}  // namespace

std::string JournalText(const std::vector<JournalEntry>& entries) {
  std::string text = absl::StrCat(kMagic, absl::string_view("\0", 1));
  for (const JournalEntry& e : entries) {
    for (const std::string* name : {&e.temporary, &e.old, &e.target}) text.append(*name).push_back('\0');
  }
  return absl::StrCat(text, kEnd);
}

std::vector<JournalEntry> ParseJournal(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, '\0');
  if (words.size() < 5 || words.size() % 3 != 2 || words.front() != kMagic || words.back() != kEnd) return {};
  std::vector<JournalEntry> entries;
  for (size_t i = 1; i + 3 < words.size(); i += 3) {
    const absl::string_view target = words[i + 2];
    const bool plain = !target.empty() && target != "." && target != ".." && target.find('/') == absl::string_view::npos &&
                       !absl::StartsWith(target, ".ampc-");
    if (!plain || !IsFreshName(words[i], ".tmp") || !IsFreshName(words[i + 1], ".old")) return {};
    entries.push_back({std::string(words[i]), std::string(words[i + 1]), std::string(target)});
  }
  return entries;
}

AtomicFileSet::~AtomicFileSet() {
  for (const AtomicFileWriter::Finished& f : files_) {
    if (!f.temporary.empty()) unlink(f.temporary.c_str());
  }
}

absl::Status AtomicFileSet::Add(AtomicFileWriter file) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter::Finished finished, file.Finish());
  if (!finished.temporary.empty()) files_.push_back(std::move(finished));
  return absl::OkStatus();
}

absl::Status AtomicFileSet::Add(const std::string& path, absl::string_view content) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path, options_));
  AMPC_RETURN_IF_ERROR(file.Append(content));
  return Add(std::move(file));
}

// Moves all files into their places; none where one cannot be moved.
absl::Status AtomicFileSet::Replace(const std::string& directory, const std::vector<JournalEntry>& entries) {
  const Files files(directory, entries);
  const auto at_head = [this](int error) { return error == 0 ? absl::OkStatus() : SystemError(files_.back().path, "be replaced", error); };
  absl::Status status = at_head(files.MoveAway());
  for (const AtomicFileWriter::Finished& f : files_) {
    if (status.ok() && DirectoryOf(f.target) != directory) status = f.Replace(options_);
  }
  if (status.ok()) status = at_head(files.MoveIn());
  if (!status.ok()) {
    files.MoveBack();
    return status;
  }
  files_.clear();
  files.RemoveOld();
  if (!options_.no_sync) SyncDirectory(directory).IgnoreError();
  return absl::OkStatus();
}

absl::Status AtomicFileSet::Commit() {
  if (files_.empty()) return absl::OkStatus();
  const AtomicFileWriter::Finished head = files_.back();
  const std::string directory = DirectoryOf(head.target), journal = JournalName(directory, BaseName(head.target));
  AMPC_RETURN_IF_ERROR(FinishJournal(journal));
  if (files_.size() == 1) {
    files_.clear();
    return head.Replace(options_);
  }
  std::vector<JournalEntry> entries;
  for (const AtomicFileWriter::Finished& f : files_) {
    if (DirectoryOf(f.target) == directory)
      entries.push_back({BaseName(f.temporary), BaseName(FreshName(directory, ".old")), BaseName(f.target)});
  }
  int lock = -1;
  if (entries.size() == files_.size()) {
    const absl::StatusOr<int> locked = WriteJournal(journal, JournalText(entries), options_);
    if (!locked.ok()) return Annotate(locked.status(), head.path);
    lock = *locked;
    if (!options_.no_sync) SyncDirectory(directory).IgnoreError();
  }
  absl::Status status = Replace(directory, entries);
  if (lock >= 0) {
    unlink(journal.c_str());
    close(lock);
  }
  return status;
}

absl::Status FinishSave(const std::string& head) {
  const std::string journal = JournalName(DirectoryOf(head), BaseName(head));
  return Exists(journal) ? FinishJournal(journal) : absl::OkStatus();
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
