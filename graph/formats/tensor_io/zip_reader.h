// The directory of a ZIP archive in memory: what .npz files need (stored and deflated members, zip64), every size and offset
// checked against the archive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

struct ZipMember {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint32_t crc32 = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  uint64_t header_offset = 0;  // of the local header
};

// The members in directory order. BadInputError for a malformed archive, UnsupportedError for encryption, several volumes or
// another compression method; messages begin with `path`.
absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(absl::string_view archive, absl::string_view path);

// The first `bytes` bytes of a member, all of it where it is shorter; no more is unpacked, and the CRC is not checked.
absl::StatusOr<absl::string_view> ReadZipMemberStart(absl::string_view archive, absl::string_view path, const ZipMember& member,
                                                     size_t bytes, std::string* buffer);

// The content of a member, its CRC checked. A stored member is viewed in place, a deflated one is unpacked into `buffer`.
absl::StatusOr<absl::string_view> ReadZipMember(absl::string_view archive, absl::string_view path, const ZipMember& member,
                                                std::string* buffer);

}  // namespace ampc
