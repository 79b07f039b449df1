#include "graph/base/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/fnv.h"
#include "graph/base/signal_cleanup.h"

namespace ampc {
namespace {

constexpr absl::string_view kPrefix = ".ampc-";
constexpr absl::string_view kJournalPrefix = ".ampc-save-";
constexpr time_t kForeignSeconds = 24 * 60 * 60;

// Process numbers mean something only on this machine, until it starts again, and in this space of process numbers.
const std::string& PidNamespace() {
  static const std::string* const kNamespace = [] {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    char space[64];
    const ssize_t length = readlink("/proc/self/ns/pid", space, sizeof(space));
    if (length > 0) text.append(space, static_cast<size_t>(length));
    return new std::string(absl::StrCat(absl::Hex(static_cast<uint32_t>(Fnv1a(text)), absl::kZeroPad8)));
  }();
  return *kNamespace;
}

struct NameParts {
  absl::string_view pid_namespace;
  int64_t pid = 0;
};

// False where it is none of FreshName's.
bool ParseName(absl::string_view name, absl::string_view suffix, NameParts* parts) {
  if (!absl::StartsWith(name, kPrefix) || !absl::EndsWith(name, suffix) || name.size() < kPrefix.size() + suffix.size()) return false;
  name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - suffix.size());
  const std::vector<absl::string_view> words = absl::StrSplit(name, '-');
  uint64_t number = 0;
  if (words.size() != 3 || words[0].size() != 8 || !absl::SimpleAtoi(words[2], &number)) return false;
  parts->pid_namespace = words[0];
  return absl::SimpleAtoi(words[1], &parts->pid) && parts->pid > 0;
}

bool IsStale(const std::string& directory, absl::string_view name) {
  NameParts parts;
  if (!ParseName(name, ".tmp", &parts) && !ParseName(name, ".old", &parts)) return false;
  if (parts.pid_namespace == PidNamespace()) return kill(static_cast<pid_t>(parts.pid), 0) != 0 && errno == ESRCH;
  struct stat info;
  return lstat(absl::StrCat(directory, "/", name).c_str(), &info) == 0 && info.st_mtime < time(nullptr) - kForeignSeconds;
}

// True once for each directory as it is called.
bool IsFirstFileIn(const std::string& directory) {
  static std::mutex mutex;
  static auto* const kSeen = new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  return kSeen->insert(directory).second;
}

std::string DescriptorPath(int fd) { return absl::StrCat("/proc/self/fd/", fd); }

int OpenNameless(const std::string& directory) {
  const int fd = open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  // Without /proc it could never get a name.
  if (fd < 0 || access(DescriptorPath(fd).c_str(), F_OK) == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace

std::string FreshName(const std::string& directory, absl::string_view suffix) {
  static std::atomic<unsigned> counter = 0;
  return absl::StrCat(directory, "/", kPrefix, PidNamespace(), "-", getpid(), "-", counter.fetch_add(1), suffix);
}

std::string JournalName(const std::string& directory, absl::string_view of) {
  return absl::StrCat(directory, "/", kJournalPrefix, absl::Hex(Fnv1a(of), absl::kZeroPad16));
}

bool IsJournalName(absl::string_view name) { return absl::StartsWith(name, kJournalPrefix); }

bool IsFreshName(absl::string_view name, absl::string_view suffix) {
  NameParts ignored;
  return ParseName(name, suffix, &ignored);
}

void RemoveStale(const std::string& directory) {
  DIR* dir = opendir(directory.c_str());
  if (dir == nullptr) return;
  std::vector<std::string> stale;
  bool journal = false;
  while (const dirent* entry = readdir(dir)) {
    journal = journal || IsJournalName(entry->d_name);
    if (IsStale(directory, entry->d_name)) stale.push_back(entry->d_name);
  }
  closedir(dir);
  if (journal) return;
  for (const std::string& name : stale) unlink(absl::StrCat(directory, "/", name).c_str());
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

int TemporaryFile::Create(const std::string& directory, TemporaryFile* file) {
  if (IsFirstFileIn(directory)) RemoveStale(directory);
  file->directory_ = directory;
  file->fd_ = OpenNameless(directory);
  if (file->fd_ >= 0) return 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = FreshName(directory, ".tmp");
    RemoveOnSignal(name);
    file->fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd_ >= 0) {
      file->name_ = std::move(name);
      return 0;
    }
    const int error = errno;
    KeepOnSignal(name);
    if (error != EEXIST) return error;
  }
  return EEXIST;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept { *this = std::move(other); }

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(directory_, other.directory_);
  std::swap(name_, other.name_);
  return *this;
}

TemporaryFile::~TemporaryFile() {
  (void)Close();
  if (!name_.empty()) RemoveTemporary(name_);
}

int TemporaryFile::GiveName(std::string* path) {
  for (int attempt = 0; name_.empty() && attempt < 100; ++attempt) {
    std::string name = FreshName(directory_, ".tmp");
    RemoveOnSignal(name);
    if (linkat(AT_FDCWD, DescriptorPath(fd_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      name_ = std::move(name);
    } else {
      const int error = errno;
      KeepOnSignal(name);
      if (error != EEXIST) return error;
    }
  }
  if (name_.empty()) return EEXIST;
  *path = std::exchange(name_, "");
  return 0;
}

void RemoveTemporary(const std::string& path) {
  unlink(path.c_str());
  KeepOnSignal(path);
}

int TemporaryFile::Close() { return fd_ >= 0 && close(std::exchange(fd_, -1)) != 0 ? errno : 0; }

}  // namespace ampc
