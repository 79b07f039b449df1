// .safetensors files: a JSON header, then the tensors' bytes back to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/atomic_file.h"
#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"
#include "graph/base/mapped_file.h"

namespace ampc {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kInvalid;  // kInvalid: an element type that ampc does not have, see type_name
  std::string type_name;          // as in the file: "F32", "BF16", ...
  std::vector<int64_t> dims;
  uint64_t offset = 0;  // of the first byte, from the start of the file; not necessarily aligned
  uint64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // by offset
  std::map<std::string, std::string> metadata;
};

// The header of the bytes of a whole file. BadInputError, beginning with `path`, unless it is well-formed and the tensors fill the
// rest of the file exactly, without overlap.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view file, const std::string& path);

// Reads by mapping: opening costs the header only. Thread-safe once open.
class SafetensorsFile {
 public:
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }  // by offset
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const SafetensorsEntry* Find(absl::string_view name) const;              // null when absent
  absl::Span<const std::byte> Bytes(const SafetensorsEntry& entry) const;  // lives as long as this object
  const MappedFile& file() const { return file_; }

  // A copy. BadInputError when `name` is absent (with a suggestion), UnsupportedError for a foreign element type.
  absl::StatusOr<HostTensor> Load(absl::string_view name) const;

 private:
  MappedFile file_;
  SafetensorsHeader header_;
  std::vector<uint32_t> by_name_;  // indexes of the entries
};

// Writes without holding tensors: the layout first, then the bytes as they come.
//
//   AMPC_ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::Create(path, specs, metadata, {}));
//   for (const SafetensorsEntry& entry : writer.entries()) ...writer.Append(window)...
//   return writer.Commit();
class SafetensorsWriter {
 public:
  struct Spec {
    std::string name;
    DType dtype = DType::kInvalid;
    std::vector<int64_t> dims;
  };
  // Larger element types come first, so that every tensor is aligned to its element; equal sizes keep the order of `specs`.
  // UsageError for a name twice, "__metadata__" or a dtype the format lacks (c128); IoError when writing fails.
  static absl::StatusOr<SafetensorsWriter> Create(const std::string& path, absl::Span<const Spec> specs,
                                                  const std::map<std::string, std::string>& metadata, AtomicFileWriter::Options options);

  const std::vector<SafetensorsEntry>& entries() const { return entries_; }  // in the order in which Append expects their bytes
  absl::Status Append(absl::Span<const std::byte> bytes);                    // any pieces, also across tensors
  absl::Status Commit();  // InternalError unless exactly the bytes of all entries were appended
  // In the place of Commit: the complete file, for an AtomicFileSet. The same error.
  absl::StatusOr<AtomicFileWriter> Take() &&;

  const std::string& header() const { return header_; }  // the file's first bytes: the length of the JSON and the JSON
  uint64_t file_size() const { return end_; }

 private:
  SafetensorsWriter(AtomicFileWriter writer, std::vector<SafetensorsEntry> entries, std::string header, uint64_t end)
      : writer_(std::move(writer)), entries_(std::move(entries)), header_(std::move(header)), end_(end) {}
  absl::Status CheckComplete() const;

  AtomicFileWriter writer_;
  std::vector<SafetensorsEntry> entries_;
  std::string header_;
  uint64_t end_;
};

// Whole files at once.
absl::StatusOr<std::map<std::string, HostTensor>> ReadSafetensors(const std::string& path);
absl::Status WriteSafetensors(const std::string& path, const std::map<std::string, HostTensor>& tensors,
                              AtomicFileWriter::Options options = {});
// The same, complete and not committed: for an AtomicFileSet.
absl::StatusOr<AtomicFileWriter> MakeSafetensors(const std::string& path, const std::map<std::string, HostTensor>& tensors,
                                                 AtomicFileWriter::Options options = {});

}  // namespace ampc
