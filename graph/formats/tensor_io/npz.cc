#include "graph/formats/tensor_io/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npy.h"
#include "graph/formats/tensor_io/npy_header.h"
#include "graph/formats/tensor_io/zip_reader.h"

namespace ampc {
namespace {

constexpr absl::string_view kSuffix = ".npy";
constexpr uint64_t kLimit32 = 0xffffffff;

template <typename T>
void Put(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff));
}

struct Entry {
  std::string name;  // with suffix
  uint32_t crc = 0;
  uint64_t size = 0, offset = 0;

  bool zip64() const { return size >= kLimit32 || offset >= kLimit32; }
  uint32_t Size32() const { return static_cast<uint32_t>(std::min(size, kLimit32)); }

  // The fields that the local header and the directory entry share, from "version needed" to the lengths.
  void PutCommon(size_t extra_size, std::string* out) const {
    const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    Put<uint16_t>(zip64() ? 45 : 20, out);
    Put<uint16_t>(ascii ? 0 : 0x800, out);  // 0x800: the name is UTF-8
    Put<uint16_t>(0, out);                  // stored
    Put<uint16_t>(0, out);                  // time
    Put<uint16_t>(0x21, out);               // date: 1 January 1980, the first there is
    Put<uint32_t>(crc, out);
    Put<uint32_t>(Size32(), out);
    Put<uint32_t>(Size32(), out);
    Put<uint16_t>(static_cast<uint16_t>(name.size()), out);
    Put<uint16_t>(static_cast<uint16_t>(extra_size), out);
  }

  std::string LocalHeader() const {
    std::string out, extra;
    if (size >= kLimit32) {
      Put<uint16_t>(1, &extra);
      Put<uint16_t>(16, &extra);
      Put<uint64_t>(size, &extra);
      Put<uint64_t>(size, &extra);
    }
    Put<uint32_t>(0x04034b50, &out);
    PutCommon(extra.size(), &out);
    return out + name + extra;
  }

  std::string DirectoryEntry() const {
    std::string out, fields, extra;
    if (size >= kLimit32) {
      Put<uint64_t>(size, &fields);
      Put<uint64_t>(size, &fields);
    }
    if (offset >= kLimit32) Put<uint64_t>(offset, &fields);
    if (!fields.empty()) {
      Put<uint16_t>(1, &extra);
      Put<uint16_t>(static_cast<uint16_t>(fields.size()), &extra);
      extra += fields;
    }
    Put<uint32_t>(0x02014b50, &out);
    Put<uint16_t>(45, &out);
    PutCommon(extra.size(), &out);
    Put<uint16_t>(0, &out);  // comment
    Put<uint16_t>(0, &out);  // volume
    Put<uint16_t>(0, &out);  // internal attributes
    Put<uint32_t>(0, &out);  // external attributes
    Put<uint32_t>(static_cast<uint32_t>(std::min(offset, kLimit32)), &out);
    return out + name + extra;
  }
};

std::string EndRecords(uint64_t count, uint64_t offset, uint64_t size) {
  std::string out;
  if (count >= 0xffff || offset >= kLimit32 || size >= kLimit32) {
    Put<uint32_t>(0x06064b50, &out);
    Put<uint64_t>(44, &out);  // bytes of this record after this field
    Put<uint16_t>(45, &out);
    Put<uint16_t>(45, &out);
    Put<uint32_t>(0, &out);
    Put<uint32_t>(0, &out);
    for (const uint64_t value : {count, count, size, offset}) Put<uint64_t>(value, &out);
    Put<uint32_t>(0x07064b50, &out);
    Put<uint32_t>(0, &out);
    Put<uint64_t>(offset + size, &out);  // of the record above
    Put<uint32_t>(1, &out);
  }
  Put<uint32_t>(0x06054b50, &out);
  Put<uint32_t>(0, &out);
  for (int i = 0; i < 2; ++i) Put<uint16_t>(static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff)), &out);
  Put<uint32_t>(static_cast<uint32_t>(std::min(size, kLimit32)), &out);
  Put<uint32_t>(static_cast<uint32_t>(std::min(offset, kLimit32)), &out);
  Put<uint16_t>(0, &out);
  return out;
}

absl::Status AppendMember(const HostTensor& tensor, Entry* entry, AtomicFileWriter* writer) {
  if (!HasNumpyType(tensor.dtype())) {
    AMPC_ASSIGN_OR_RETURN(const HostTensor wide, AsNumpy(tensor));
    return AppendMember(wide, entry, writer);
  }
  const std::string header = MakeNpyHeader(tensor.dtype(), tensor.dims());
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
  if (tensor.size_bytes() > 0) crc = crc32_z(crc, static_cast<const Bytef*>(tensor.data()), tensor.size_bytes());
  entry->crc = static_cast<uint32_t>(crc);
  entry->size = header.size() + tensor.size_bytes();
  entry->offset = writer->size();
  AMPC_RETURN_IF_ERROR(writer->Append(entry->LocalHeader()));
  AMPC_RETURN_IF_ERROR(writer->Append(header));
  return writer->Append(tensor.bytes());
}

// Of a packed member: its header says as much data as the member has. Else a small file could make much of zeros before that is seen.
absl::Status CheckSize(absl::string_view archive, absl::string_view path, const ZipMember& member, absl::string_view where) {
  if (member.method == 0 || member.size <= kMaxNpyHeader) return absl::OkStatus();
  std::string buffer;
  AMPC_ASSIGN_OR_RETURN(const absl::string_view start, ReadZipMemberStart(archive, path, member, kMaxNpyHeader, &buffer));
  AMPC_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(start, where));
  const auto bytes = static_cast<uint64_t>(*NumBytes(header.dtype, header.dims));
  return member.size - header.data_offset == bytes ? absl::OkStatus() : WrongNpySize(header, where, member.size - header.data_offset);
}

}  // namespace

absl::StatusOr<std::map<std::string, HostTensor>> ReadNpz(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  return ParseNpz(file.text(), path);
}

absl::StatusOr<std::map<std::string, HostTensor>> ParseNpz(absl::string_view archive, absl::string_view path) {
  if (!absl::StartsWith(archive, "PK")) return BadInputError(absl::StrCat(path, ": is not an npz file, needs a zip archive"));
  AMPC_ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ReadZipDirectory(archive, path));
  std::map<std::string, HostTensor> tensors;
  std::string buffer;
  for (const ZipMember& member : members) {
    const std::string where = absl::StrCat(path, ": member '", absl::Utf8SafeCEscape(member.name), "'");
    if (!absl::EndsWith(member.name, kSuffix)) {
      return BadInputError(absl::StrCat(where, " is not a .npy array"));
    }
    AMPC_RETURN_IF_ERROR(CheckSize(archive, path, member, where));
    AMPC_ASSIGN_OR_RETURN(const absl::string_view content, ReadZipMember(archive, path, member, &buffer));
    AMPC_ASSIGN_OR_RETURN(HostTensor tensor, ParseNpy(content, where));
    std::string name = member.name.substr(0, member.name.size() - kSuffix.size());
    if (!tensors.emplace(std::move(name), std::move(tensor)).second) {
      return BadInputError(absl::StrCat(where, " is there twice"));
    }
  }
  return tensors;
}

absl::Status WriteNpz(const std::string& path, const std::map<std::string, HostTensor>& tensors, AtomicFileWriter::Options options) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter writer, MakeNpz(path, tensors, options));
  return writer.Commit();
}

absl::StatusOr<AtomicFileWriter> MakeNpz(const std::string& path, const std::map<std::string, HostTensor>& tensors,
                                         AtomicFileWriter::Options options) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path, options));
  std::string directory;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dtype() == DType::kInvalid) return InternalError(absl::StrCat(path, ": tensor '", name, "' has no element type"));
    if (name.size() > 60000) return UsageError(absl::StrCat(path, ": a tensor's name has ", name.size(), " bytes, at most 60000 fit"));
    Entry entry{absl::StrCat(name, kSuffix)};
    AMPC_RETURN_IF_ERROR(AppendMember(tensor, &entry, &writer));
    directory += entry.DirectoryEntry();
  }
  const uint64_t offset = writer.size();
  AMPC_RETURN_IF_ERROR(writer.Append(directory));
  AMPC_RETURN_IF_ERROR(writer.Append(EndRecords(tensors.size(), offset, directory.size())));
  return writer;
}

}  // namespace ampc
