// A whole file as read-only memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

// Move-only; the bytes stay at their address until the object that holds them is destroyed, also across moves. Safe to read from
// several threads. Someone who shortens the file while it is mapped kills the reader (SIGBUS), as with every mapping; files
// replaced by rename, as AtomicFileWriter does, are safe.
class MappedFile {
 public:
  // BadInputError when the file is absent, unreadable or not a regular file. An empty file is fine. One that lies in memory
  // (memory_files.h) is that.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  absl::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  size_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Gives the memory of a part that has been read back to the system; reading it again reads the file again.
  void Release(size_t offset, size_t bytes) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;                // else the memory is another's
  std::shared_ptr<const void> owner_;  // of such memory
};

}  // namespace ampc
