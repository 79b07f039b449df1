#include "graph/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

absl::Status Failure(const std::string& path, absl::string_view what, int error) {
  return IoError(absl::StrCat(path, ": cannot ", what, ": ", std::strerror(error)));
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

int WriteAll(int fd, const std::byte* data, size_t size) {
  while (size > 0) {
    // Linux transfers at most 2 GiB - 4 KiB a call; an explicit bound keeps the loop the same everywhere.
    const ssize_t written = write(fd, data, std::min<size_t>(size, size_t{1} << 30));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

// Makes a rename durable. Some file systems refuse to sync a directory; the rename is then as durable as they make it.
void SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

}  // namespace

struct AtomicFileWriter::State {
  std::string path;       // as the caller named it, for messages
  std::string target;     // with symbolic links followed
  std::string temporary;  // empty when the target is written directly or after the rename
  int fd = -1;
  bool no_sync = false;
  size_t size = 0;
  std::vector<std::byte> buffer;
  absl::Status failed;

  ~State() {
    if (fd >= 0) close(fd);
    if (!temporary.empty()) unlink(temporary.c_str());
  }
  absl::Status OpenDirect();
  absl::Status OpenTemporary(const struct stat* existing);
  absl::Status Write(const std::byte* data, size_t bytes);
  absl::Status Flush();
  absl::Status Finish();
};

absl::Status AtomicFileWriter::State::OpenDirect() {
  fd = open(target.c_str(), O_WRONLY | O_CLOEXEC);
  return fd < 0 ? Failure(path, "be written", errno) : absl::OkStatus();
}

absl::Status AtomicFileWriter::State::OpenTemporary(const struct stat* existing) {
  static std::atomic<unsigned> counter = 0;
  const std::string directory = DirectoryOf(target);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = absl::StrCat(directory, "/.ampc-", getpid(), "-", counter.fetch_add(1), ".tmp");
    fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      temporary = name;
      // Best effort: a foreign owner's file stays replaceable even where its mode cannot be copied.
      if (existing != nullptr) (void)!fchmod(fd, existing->st_mode & 07777);
      return absl::OkStatus();
    }
    if (errno != EEXIST) break;
  }
  return Failure(path, absl::StrCat("be written in directory '", directory, "'"), errno);
}

absl::Status AtomicFileWriter::State::Write(const std::byte* data, size_t bytes) {
  if (const int error = WriteAll(fd, data, bytes); error != 0) failed = Failure(path, "be written", error);
  return failed;
}

absl::Status AtomicFileWriter::State::Flush() {
  AMPC_RETURN_IF_ERROR(failed);
  AMPC_RETURN_IF_ERROR(Write(buffer.data(), buffer.size()));
  buffer.clear();
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::State::Finish() {
  AMPC_RETURN_IF_ERROR(Flush());
  const bool sync = !no_sync && !temporary.empty();
  if (sync && fsync(fd) != 0) return failed = Failure(path, "be synced", errno);
  const int error = close(std::exchange(fd, -1)) != 0 ? errno : 0;
  if (error != 0) return failed = Failure(path, "be closed", error);
  if (temporary.empty()) return absl::OkStatus();
  if (rename(temporary.c_str(), target.c_str()) != 0) return failed = Failure(path, "be replaced", errno);
  temporary.clear();
  if (sync) SyncDirectory(DirectoryOf(target));
  return absl::OkStatus();
}

absl::StatusOr<AtomicFileWriter> AtomicFileWriter::Create(const std::string& path, Options options) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->target = path;
  state->no_sync = options.no_sync;
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return Failure(path, "be written", errno);
  if (exists && S_ISDIR(info.st_mode)) return IoError(absl::StrCat(path, ": is a directory, needs a file name to write to"));
  if (path.empty() || path.back() == '/') return IoError(absl::StrCat("'", path, "': needs a file name to write to"));
  if (exists && !S_ISREG(info.st_mode)) {
    AMPC_RETURN_IF_ERROR(state->OpenDirect());
    return AtomicFileWriter(std::move(state));
  }
  if (exists) {
    char resolved[PATH_MAX];
    if (realpath(path.c_str(), resolved) != nullptr) state->target = resolved;
  }
  AMPC_RETURN_IF_ERROR(state->OpenTemporary(exists ? &info : nullptr));
  return AtomicFileWriter(std::move(state));
}

AtomicFileWriter::AtomicFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFileWriter::AtomicFileWriter(AtomicFileWriter&&) noexcept = default;
AtomicFileWriter& AtomicFileWriter::operator=(AtomicFileWriter&&) noexcept = default;
AtomicFileWriter::~AtomicFileWriter() = default;

size_t AtomicFileWriter::size() const { return state_->size; }

absl::Status AtomicFileWriter::Append(std::span<const std::byte> bytes) {
  State& s = *state_;
  AMPC_RETURN_IF_ERROR(s.failed);
  if (s.fd < 0) return InternalError(absl::StrCat(s.path, ": Append after Commit"));
  s.size += bytes.size();
  if (s.buffer.size() + bytes.size() > kBufferBytes) AMPC_RETURN_IF_ERROR(s.Flush());
  if (bytes.size() >= kBufferBytes) return s.Write(bytes.data(), bytes.size());
  s.buffer.insert(s.buffer.end(), bytes.begin(), bytes.end());
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::AppendZeros(size_t count) {
  static constexpr std::byte kZeros[4096] = {};
  while (count > 0) {
    const size_t piece = std::min(count, sizeof(kZeros));
    AMPC_RETURN_IF_ERROR(Append(std::span(kZeros, piece)));
    count -= piece;
  }
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::Commit() {
  AMPC_RETURN_IF_ERROR(state_->failed);
  if (state_->fd < 0) return InternalError(absl::StrCat(state_->path, ": Commit called twice"));
  return state_->Finish();
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, AtomicFileWriter::Options options) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path, options));
  AMPC_RETURN_IF_ERROR(writer.Append(content));
  return writer.Commit();
}

}  // namespace ampc
