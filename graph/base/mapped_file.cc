#include "graph/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/memory_files.h"

namespace ampc {
namespace {

// A resource that the system lacks is not the file's fault.
absl::Status OpenError(const std::string& path, int error) {
  if (error == ENOMEM || error == EMFILE || error == ENFILE || error == EIO) return SystemError(path, "be read", error);
  if (error == ENOENT) return BadInputError(absl::StrCat(path, ": no such file"));
  return BadInputError(absl::StrCat(path, ": cannot be read: ", std::strerror(error)));
}

constexpr size_t kHugePage = size_t{2} << 20;

// One look maps 64 kB then, not a page of 2 MB: who skips through a file of weights does not hold half of it. MADV_NOHUGEPAGE would not do:
// some kernels map what lies in the page cache as a huge page all the same, except where address and offset are aligned differently.
void* MapInSmallPages(int fd, size_t size) {
  if (size < kHugePage) return mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t used = (size + page - 1) / page * page;
  void* reserved = mmap(nullptr, used + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return MAP_FAILED;
  auto* begin = static_cast<std::byte*>(reserved);
  const bool aligned = reinterpret_cast<uintptr_t>(begin) % kHugePage == 0;
  std::byte* data = aligned ? begin + page : begin;
  if (mmap(data, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(reserved, used + page);
    errno = error;
    return MAP_FAILED;
  }
  munmap(aligned ? begin : begin + used, page);
  return data;
}

}  // namespace

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  if (const MemoryFiles::File* memory = MemoryFiles::FindInScope(path)) {
    MappedFile file;
    file.path_ = path;
    file.data_ = memory->bytes.data();
    file.size_ = memory->bytes.size();
    file.owner_ = memory->owner;
    return file;
  }
  // Not blocking: opening a pipe would wait for its writer before fstat could refuse it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return OpenError(path, errno);
  struct stat info;
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return OpenError(path, error);
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return BadInputError(absl::StrCat(path, ": is ", S_ISDIR(info.st_mode) ? "a directory" : "a device or pipe", ", needs a regular file"));
  }
  MappedFile file;
  file.path_ = path;
  if (info.st_size == 0) {  // mmap refuses a length of zero
    close(fd);
    return file;
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = MapInSmallPages(fd, size);
  const int error = errno;
  close(fd);
  if (data == MAP_FAILED) return OpenError(path, error);
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  file.mapped_ = true;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(owner_, other.owner_);
  return *this;
}

MappedFile::~MappedFile() {
  if (mapped_) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::Release(size_t offset, size_t bytes) const {
  if (!mapped_ || offset >= size_) return;
  bytes = std::min(bytes, size_ - offset);
  // Only whole pages: a page shared with a neighbouring part may still be in use.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = offset + bytes == size_ ? size_ : (offset + bytes) / page * page;
  if (begin < end) madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace ampc
