#include "graph/base/atomic_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/memory_files.h"
#include "graph/base/signal_cleanup.h"
#include "graph/base/status_macros.h"
#include "graph/base/temporary_file.h"

namespace ampc {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

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

std::atomic<int64_t> synced_nanoseconds = 0;
std::atomic<int64_t> files_replaced = 0;

int Sync(int fd) {
  const auto start = std::chrono::steady_clock::now();
  const int result = fsync(fd);
  synced_nanoseconds += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

struct AtomicFileWriter::State {
  std::string path;    // as the caller named it, for messages
  std::string target;  // with symbolic links followed
  bool direct = false;
  TemporaryFile file;  // has the descriptor of a direct target too
  bool no_sync = false;
  MemoryFiles* memory = nullptr;
  size_t size = 0;
  std::vector<std::byte> buffer;
  absl::Status failed;

  absl::Status OpenInMemory();
  absl::Status OpenDirect();
  absl::Status OpenTemporary(const struct stat* existing);
  absl::Status Write(const std::byte* data, size_t bytes);
  absl::Status Flush();
  absl::Status Finish(std::string* temporary);
  absl::Status GiveMemory();
};

// A file of the system without a disk: pages that are written like any file's, and mapped afterwards without a copy.
absl::Status AtomicFileWriter::State::OpenInMemory() {
  direct = true;
  const int fd = memfd_create("ampc", MFD_CLOEXEC);
  if (fd < 0) return SystemError(path, "be written to memory", errno);
  file = TemporaryFile(fd);
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::State::GiveMemory() {
  MemoryFiles::File out;
  if (size > 0) {
    void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd(), 0);
    if (data == MAP_FAILED) return SystemError(path, "be written to memory", errno);
    out.bytes = {static_cast<const std::byte*>(data), size};
    out.owner = std::shared_ptr<const void>(data, [bytes = size](const void* begin) { munmap(const_cast<void*>(begin), bytes); });
  }
  memory->Add(path, std::move(out));
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::State::OpenDirect() {
  direct = true;
  // Not blocking: opening a pipe would wait for its reader, for ever where there will be none.
  const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENXIO)
    return IoError(absl::StrCat(path, ": cannot be written: no process reads this pipe; start its reader first"));
  if (fd < 0) return SystemError(path, "be written", errno);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  file = TemporaryFile(fd);
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::State::OpenTemporary(const struct stat* existing) {
  const std::string directory = DirectoryOf(target);
  if (const int error = TemporaryFile::Create(directory, &file); error != 0) {
    return SystemError(path, absl::StrCat("be written in directory '", directory, "'"), error);
  }
  // Best effort: a foreign owner's file stays replaceable even where its mode cannot be copied.
  if (existing != nullptr) (void)!fchmod(file.fd(), existing->st_mode & 07777);
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::State::Write(const std::byte* data, size_t bytes) {
  if (const int error = WriteAll(file.fd(), data, bytes); error != 0) failed = SystemError(path, "be written", error);
  return failed;
}

absl::Status AtomicFileWriter::State::Flush() {
  AMPC_RETURN_IF_ERROR(failed);
  AMPC_RETURN_IF_ERROR(Write(buffer.data(), buffer.size()));
  buffer.clear();
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::State::Finish(std::string* temporary) {
  if (file.fd() < 0) return InternalError(absl::StrCat(path, ": finished twice"));
  AMPC_RETURN_IF_ERROR(Flush());
  if (memory != nullptr) AMPC_RETURN_IF_ERROR(GiveMemory());
  if (!no_sync && !direct && Sync(file.fd()) != 0) return failed = SystemError(path, "be synced", errno);
  if (!direct) {
    if (const int error = file.GiveName(temporary); error != 0) return failed = SystemError(path, "be named", error);
  }
  const int error = file.Close();
  if (error == 0) return absl::OkStatus();
  if (!temporary->empty()) RemoveTemporary(*temporary);
  return failed = SystemError(path, "be closed", error);
}

absl::StatusOr<AtomicFileWriter> AtomicFileWriter::Create(const std::string& path, Options options) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->target = path;
  state->no_sync = options.no_sync;
  state->memory = options.memory;
  if (options.memory != nullptr) {
    AMPC_RETURN_IF_ERROR(state->OpenInMemory());
    return AtomicFileWriter(std::move(state));
  }
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return SystemError(path, "be written", errno);
  if (exists && S_ISDIR(info.st_mode)) return IoError(absl::StrCat(path, ": is a directory, needs a file name to write to"));
  if (path.empty() || path.back() == '/') return IoError(absl::StrCat("'", path, "': needs a file name to write to"));
  if (exists && !S_ISREG(info.st_mode)) {
    AMPC_RETURN_IF_ERROR(state->OpenDirect());
    return AtomicFileWriter(std::move(state));
  }
  // Files of one directory are told by its name, so it has one.
  char resolved[PATH_MAX];
  if (realpath(exists ? path.c_str() : DirectoryOf(path).c_str(), resolved) != nullptr) {
    state->target = exists ? resolved : absl::StrCat(resolved, "/", path.substr(path.rfind('/') + 1));
  }
  AMPC_RETURN_IF_ERROR(state->OpenTemporary(exists ? &info : nullptr));
  return AtomicFileWriter(std::move(state));
}

AtomicFileWriter::AtomicFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFileWriter::AtomicFileWriter(AtomicFileWriter&&) noexcept = default;
AtomicFileWriter& AtomicFileWriter::operator=(AtomicFileWriter&&) noexcept = default;
AtomicFileWriter::~AtomicFileWriter() = default;

int64_t FilesReplaced() { return files_replaced.load(); }
void CountReplaced(int64_t files) { files_replaced += files; }

double SyncSeconds() { return 1e-9 * static_cast<double>(synced_nanoseconds.load()); }

size_t AtomicFileWriter::size() const { return state_->size; }

absl::Status AtomicFileWriter::Append(std::span<const std::byte> bytes) {
  State& s = *state_;
  AMPC_RETURN_IF_ERROR(s.failed);
  if (s.file.fd() < 0) return InternalError(absl::StrCat(s.path, ": Append after Commit"));
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

absl::StatusOr<AtomicFileWriter::Finished> AtomicFileWriter::Finish() {
  AMPC_RETURN_IF_ERROR(state_->failed);
  Finished finished{.path = state_->path, .target = state_->target, .temporary = ""};
  AMPC_RETURN_IF_ERROR(state_->Finish(&finished.temporary));
  return finished;
}

absl::Status AtomicFileWriter::Finished::Replace(Options options) const {
  if (temporary.empty()) return absl::OkStatus();
  const DeferSignals whole;
  if (rename(temporary.c_str(), target.c_str()) != 0) {
    const int error = errno;
    RemoveTemporary(temporary);
    return SystemError(path, "be replaced", error);
  }
  KeepOnSignal(temporary);
  CountReplaced(1);
  if (!options.no_sync) SyncDirectory(DirectoryOf(target)).IgnoreError();
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::Commit() {
  AMPC_ASSIGN_OR_RETURN(const Finished finished, Finish());
  return finished.Replace({.no_sync = state_->no_sync});
}

absl::Status SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError(directory, "be opened", errno);
  const int error = Sync(fd) == 0 ? 0 : errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : SystemError(directory, "be synced", error);
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, AtomicFileWriter::Options options) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path, options));
  AMPC_RETURN_IF_ERROR(writer.Append(content));
  return writer.Commit();
}

}  // namespace ampc
