// Writing a file so that a crash leaves the old file or the new one, never a part.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

class MemoryFiles;

// Writes to a file without a name on the target's file system; Commit() syncs it, gives it a name and renames it over the target. Destroyed
// without Commit(), or killed, it leaves nothing and the target as it was. A file system that has no such files gets a temporary one,
// `.ampc-*.tmp` in the target's directory, which a later writer in that directory removes where a killed process left it
// (temporary_file.h). A target that is a symbolic link is followed; an existing target keeps its permissions; a device or pipe (/dev/null,
// /dev/stdout) is written directly. Every failure is an IoError that names the target. Not for use from two threads at once. Files that
// belong together: atomic_file_set.h.
class AtomicFileWriter {
 public:
  struct Options {
    bool no_sync = false;           // skip fsync: faster, atomic only against a crash of this program
    MemoryFiles* memory = nullptr;  // gets the file, under the path as its name, when it is complete; nothing is written to the disk
  };
  static absl::StatusOr<AtomicFileWriter> Create(const std::string& path, Options options);
  static absl::StatusOr<AtomicFileWriter> Create(const std::string& path) { return Create(path, Options()); }

  AtomicFileWriter(AtomicFileWriter&&) noexcept;
  AtomicFileWriter& operator=(AtomicFileWriter&&) noexcept;
  ~AtomicFileWriter();

  // Small pieces are collected, large ones go to the system as they are. After a failure every later call fails too.
  absl::Status Append(std::span<const std::byte> bytes);
  absl::Status Append(absl::string_view text) { return Append(std::as_bytes(std::span(text))); }
  absl::Status AppendZeros(size_t count);
  size_t size() const;  // bytes appended so far

  // Call once, last; one of the two.
  absl::Status Commit();
  // What Commit does but for the last step: the file is complete under a temporary name, which the caller now owns. `temporary` is empty
  // where the target was written directly or lies in memory.
  struct Finished {
    std::string path;    // as the caller of Create named it
    std::string target;  // with symbolic links followed
    std::string temporary;

    // The last step: renames the temporary file over the target, or removes it and gives an IoError.
    absl::Status Replace(Options options) const;
  };
  absl::StatusOr<Finished> Finish();

 private:
  struct State;
  explicit AtomicFileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Makes the names in a directory last, as fsync does for a file's bytes. An IoError where the file system refuses, as some do: a writer
// ignores that, because the files are then as durable as they can be there.
absl::Status SyncDirectory(const std::string& directory);

// The seconds that this process has waited so far for the disk to have what it wrote. Thread-safe.
double SyncSeconds();
// Files that this process has made or replaced so far. Thread-safe.
int64_t FilesReplaced();
void CountReplaced(int64_t files);  // for who renames them himself

// The whole of `content` as file `path`, with the guarantees above.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, AtomicFileWriter::Options options = {});

}  // namespace ampc
