#include "graph/formats/tensor_io/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are read by copying their bytes");

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint32_t kIn64 = 0xffffffff;  // a 32-bit field whose value stands in the zip64 record

// The field at `offset`; the caller has checked that it lies inside.
template <typename T>
T Field(absl::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};

class DirectoryReader {
 public:
  DirectoryReader(absl::string_view archive, absl::string_view path) : archive_(archive), path_(path) {}

  absl::StatusOr<std::vector<ZipMember>> Read() {
    AMPC_ASSIGN_OR_RETURN(const Directory directory, FindDirectory());
    if (directory.offset > archive_.size() || directory.size > archive_.size() - directory.offset) {
      return Bad(absl::StrCat("the directory of ", directory.size, " bytes at offset ", directory.offset, " lies outside the file of ",
                              archive_.size(), " bytes"));
    }
    absl::string_view bytes = archive_.substr(directory.offset, directory.size);
    if (directory.count > bytes.size() / kCentralBytes) {
      return Bad(absl::StrCat("the directory of ", bytes.size(), " bytes cannot hold ", directory.count, " members"));
    }
    std::vector<ZipMember> members;
    members.reserve(directory.count);
    uint64_t packed = 0;
    for (uint64_t i = 0; i < directory.count; ++i) {
      AMPC_RETURN_IF_ERROR(ReadEntry(&bytes, &members.emplace_back()));
      // Members that share bytes could unpack to any size from a small file.
      if (members.back().packed_size > archive_.size() - packed) return Bad("its members overlap");
      packed += members.back().packed_size;
    }
    if (!bytes.empty()) return Bad(absl::StrCat("its directory goes on after the ", directory.count, " members of its end record"));
    return members;
  }

 private:
  absl::Status Bad(absl::string_view what) const { return BadInputError(absl::StrCat(path_, ": damaged zip archive: ", what)); }

  absl::StatusOr<Directory> FindDirectory() const;
  absl::Status ReadEntry(absl::string_view* bytes, ZipMember* member) const;
  absl::Status ReadZip64Extra(absl::string_view extra, ZipMember* member) const;

  absl::string_view archive_;
  absl::string_view path_;
};

absl::StatusOr<Directory> DirectoryReader::FindDirectory() const {
  // The end record is last but for a comment of at most 65535 bytes.
  const size_t first = archive_.size() - std::min<size_t>(archive_.size(), kEndBytes + 65535);
  size_t end = absl::string_view::npos;
  for (size_t at = archive_.size() - std::min(archive_.size(), kEndBytes) + 1; at-- > first;) {
    if (archive_.size() - at < kEndBytes || Field<uint32_t>(archive_, at) != kEnd) continue;
    if (archive_.size() - at - kEndBytes != Field<uint16_t>(archive_, at + 20)) continue;
    end = at;
    break;
  }
  if (end == absl::string_view::npos) return Bad("its end record is missing");
  Directory directory;
  directory.count = Field<uint16_t>(archive_, end + 10);
  directory.size = Field<uint32_t>(archive_, end + 12);
  directory.offset = Field<uint32_t>(archive_, end + 16);
  if (end >= kLocator64Bytes && Field<uint32_t>(archive_, end - kLocator64Bytes) == kLocator64) {
    const auto at = Field<uint64_t>(archive_, end - kLocator64Bytes + 8);
    if (at > archive_.size() || archive_.size() - at < kEnd64Bytes || Field<uint32_t>(archive_, at) != kEnd64) {
      return Bad("its zip64 end record is missing");
    }
    directory.count = Field<uint64_t>(archive_, at + 32);
    directory.size = Field<uint64_t>(archive_, at + 40);
    directory.offset = Field<uint64_t>(archive_, at + 48);
  } else if (Field<uint16_t>(archive_, end + 4) != 0) {
    return UnsupportedError(absl::StrCat(path_, ": a zip archive in several volumes is not supported"));
  }
  return directory;
}

absl::Status DirectoryReader::ReadEntry(absl::string_view* bytes, ZipMember* member) const {
  if (bytes->size() < kCentralBytes || Field<uint32_t>(*bytes, 0) != kCentralHeader) return Bad("its directory ends inside an entry");
  const size_t name_size = Field<uint16_t>(*bytes, 28), extra_size = Field<uint16_t>(*bytes, 30),
               comment_size = Field<uint16_t>(*bytes, 32);
  if (bytes->size() - kCentralBytes < name_size + extra_size + comment_size) return Bad("its directory ends inside an entry");
  const auto flags = Field<uint16_t>(*bytes, 8);
  member->method = Field<uint16_t>(*bytes, 10);
  member->crc32 = Field<uint32_t>(*bytes, 16);
  member->packed_size = Field<uint32_t>(*bytes, 20);
  member->size = Field<uint32_t>(*bytes, 24);
  member->header_offset = Field<uint32_t>(*bytes, 42);
  member->name = std::string(bytes->substr(kCentralBytes, name_size));
  AMPC_RETURN_IF_ERROR(ReadZip64Extra(bytes->substr(kCentralBytes + name_size, extra_size), member));
  if ((flags & 1) != 0) return UnsupportedError(absl::StrCat(path_, ": an encrypted zip archive is not supported"));
  if (member->method != 0 && member->method != 8) {
    return UnsupportedError(absl::StrCat(path_, ": zip compression method ", member->method, " is not one of 0 (stored), 8 (deflated)"));
  }
  bytes->remove_prefix(kCentralBytes + name_size + extra_size + comment_size);
  return absl::OkStatus();
}

absl::Status DirectoryReader::ReadZip64Extra(absl::string_view extra, ZipMember* member) const {
  uint64_t* const fields[] = {&member->size, &member->packed_size, &member->header_offset};
  if (std::none_of(std::begin(fields), std::end(fields), [](const uint64_t* field) { return *field == kIn64; })) return absl::OkStatus();
  while (extra.size() >= 4) {
    const auto id = Field<uint16_t>(extra, 0);
    absl::string_view body = extra.substr(4, Field<uint16_t>(extra, 2));
    extra.remove_prefix(4 + body.size());
    if (id != 1) continue;
    for (uint64_t* field : fields) {
      if (*field != kIn64) continue;
      if (body.size() < 8) return Bad("a zip64 record is cut short");
      *field = Field<uint64_t>(body, 0);
      body.remove_prefix(8);
    }
    return absl::OkStatus();
  }
  return absl::OkStatus();  // a member of exactly 2^32 - 1 bytes
}

struct InflateEnd {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};

enum class Unpacked { kAll, kMore, kDamaged };

// Unpacks at most `most` bytes of `packed`. kAll: these are all that it holds; kMore: it holds more.
Unpacked Inflate(absl::string_view packed, uint64_t most, std::string* out) {
  out->clear();
  std::unique_ptr<z_stream, InflateEnd> stream(new z_stream{});
  if (inflateInit2(stream.get(), -MAX_WBITS) != Z_OK) return Unpacked::kDamaged;
  constexpr uint64_t kPiece = uint64_t{1} << 30;  // zlib counts in 32 bits
  constexpr uint64_t kFirst = uint64_t{1} << 16;
  uint64_t in_at = 0, out_at = 0;
  char spare = 0;  // offered when there are `most` bytes, to find the end of the stream or a stream that holds more
  int result = Z_OK;
  while (result == Z_OK) {
    // Memory is taken as the stream fills it: to claim much costs nothing.
    if (out_at == out->size()) out->resize(std::min(most, std::max(kFirst, 2 * out_at)));
    const auto in_piece = static_cast<uInt>(std::min<uint64_t>(packed.size() - in_at, kPiece));
    const auto out_piece = static_cast<uInt>(std::min<uint64_t>(out->size() - out_at, kPiece));
    stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in_at));
    stream->avail_in = in_piece;
    stream->next_out = reinterpret_cast<Bytef*>(out_piece > 0 ? out->data() + out_at : &spare);
    stream->avail_out = out_piece > 0 ? out_piece : 1;
    result = inflate(stream.get(), Z_NO_FLUSH);
    in_at += in_piece - stream->avail_in;
    if (out_piece > 0) {
      out_at += out_piece - stream->avail_out;
    } else if (stream->avail_out == 0) {
      return Unpacked::kMore;
    }
  }
  out->resize(out_at);
  return result == Z_STREAM_END && in_at == packed.size() ? Unpacked::kAll : Unpacked::kDamaged;
}

absl::Status BadMember(absl::string_view path, const ZipMember& member, absl::string_view what) {
  return BadInputError(absl::StrCat(path, ": member '", absl::Utf8SafeCEscape(member.name), "': ", what));
}

// The bytes of a member as they lie in the archive.
absl::StatusOr<absl::string_view> PackedBytes(absl::string_view archive, absl::string_view path, const ZipMember& member) {
  const uint64_t at = member.header_offset;
  if (at > archive.size() || archive.size() - at < kLocalBytes || Field<uint32_t>(archive, at) != kLocalHeader) {
    return BadMember(path, member, absl::StrCat("no local header at offset ", at));
  }
  const uint64_t data = at + kLocalBytes + Field<uint16_t>(archive, at + 26) + Field<uint16_t>(archive, at + 28);
  if (data > archive.size() || member.packed_size > archive.size() - data) {
    return BadMember(path, member,
                     absl::StrCat("needs ", member.packed_size, " bytes at offset ", data, ", the file has ", archive.size()));
  }
  if (member.method == 0 && member.size != member.packed_size) {
    return BadMember(path, member, absl::StrCat("is stored in ", member.packed_size, " bytes, its directory entry says ", member.size));
  }
  // Deflate shrinks at most 1032 times.
  if (member.method == 8 && member.size / 1032 > member.packed_size) {
    return BadMember(path, member,
                     absl::StrCat("claims ", member.size, " bytes, more than ", member.packed_size, " packed bytes can hold"));
  }
  return archive.substr(data, member.packed_size);
}

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(absl::string_view archive, absl::string_view path) {
  return DirectoryReader(archive, path).Read();
}

absl::StatusOr<absl::string_view> ReadZipMemberStart(absl::string_view archive, absl::string_view path, const ZipMember& member,
                                                     size_t bytes, std::string* buffer) {
  AMPC_ASSIGN_OR_RETURN(const absl::string_view packed, PackedBytes(archive, path, member));
  if (member.method == 0) return packed.substr(0, bytes);
  if (Inflate(packed, bytes, buffer) == Unpacked::kDamaged) return BadMember(path, member, "its compressed data are damaged");
  return *buffer;
}

absl::StatusOr<absl::string_view> ReadZipMember(absl::string_view archive, absl::string_view path, const ZipMember& member,
                                                std::string* buffer) {
  AMPC_ASSIGN_OR_RETURN(absl::string_view content, PackedBytes(archive, path, member));
  if (member.method == 8) {
    if (Inflate(content, member.size, buffer) != Unpacked::kAll || buffer->size() != member.size) {
      return BadMember(path, member, absl::StrCat("its compressed data are damaged, needs ", member.size, " bytes"));
    }
    content = *buffer;
  }
  const auto crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  if (crc != member.crc32) {
    return BadMember(path, member,
                     absl::StrCat("checksum ", absl::Hex(crc, absl::kZeroPad8), ", needs ", absl::Hex(member.crc32, absl::kZeroPad8)));
  }
  return content;
}

}  // namespace ampc
