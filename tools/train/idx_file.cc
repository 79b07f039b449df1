#include "tools/train/idx_file.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 31;

absl::Status Bad(const std::string& path, absl::string_view found, absl::string_view needed) {
  return BadInputError(absl::StrCat("'", path, "': found ", found, ", needed ", needed));
}

bool IsGzip(absl::string_view text) { return text.size() > 2 && text[0] == '\x1f' && text[1] == '\x8b'; }

// The first `most` bytes that `text` holds, all of them where it holds fewer: no more is unpacked.
absl::StatusOr<std::string> Gunzip(const std::string& path, absl::string_view text, size_t most) {
  z_stream stream = {};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return InternalError("zlib cannot start");
  const std::unique_ptr<z_stream, void (*)(z_stream*)> end(&stream, [](z_stream* s) { inflateEnd(s); });
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  std::string out;
  int result = Z_OK;
  while (result == Z_OK && out.size() < most) {
    const size_t before = out.size();
    out.resize(std::min(most, std::max<size_t>(2 * before, 1 << 16)));
    stream.next_out = reinterpret_cast<Bytef*>(&out[before]);
    stream.avail_out = static_cast<uInt>(out.size() - before);
    result = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  if (result == Z_BUF_ERROR) return Bad(path, absl::StrCat("a compressed file that ends after ", text.size(), " bytes"), "a whole one");
  if (result != Z_OK && result != Z_STREAM_END) return Bad(path, "damaged compressed data", "a whole gzip file");
  return out;
}

uint32_t BigEndian(absl::string_view bytes) {
  uint32_t value = 0;
  for (char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// The dimensions that the header `text` says, and in `wanted` the number of bytes behind it.
absl::StatusOr<std::vector<int64_t>> ParseHeader(const std::string& path, absl::string_view text, int rank, uint64_t* wanted) {
  const size_t header = 4 * (1 + static_cast<size_t>(rank));
  const uint32_t magic = 0x800 + static_cast<uint32_t>(rank);  // 8: bytes
  if (text.size() < header) return Bad(path, absl::StrCat(text.size(), " bytes"), absl::StrCat("a header of ", header));
  if (BigEndian(text) != magic) return Bad(path, absl::StrFormat("magic number 0x%08x", BigEndian(text)), absl::StrFormat("0x%08x", magic));
  std::vector<int64_t> dims;
  *wanted = 1;
  uint64_t extent = 1;  // the same with 1 for 0: of what there is none is not endless either
  for (int i = 0; i < rank; ++i) {
    const uint32_t dim = BigEndian(text.substr(4 * (1 + static_cast<size_t>(i))));
    dims.push_back(dim);
    *wanted *= dim;
    extent *= std::max<uint64_t>(dim, 1);
    if (extent > kMaxBytes) return Bad(path, "a header that promises more than 2 GB", "less");
  }
  return dims;
}

}  // namespace

absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int rank) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  return ParseIdx(file.text(), path, rank);
}

absl::StatusOr<IdxArray> ParseIdx(absl::string_view file, const std::string& path, int rank) {
  const size_t header = 4 * (1 + static_cast<size_t>(rank));
  std::string unpacked;
  if (IsGzip(file)) {
    AMPC_ASSIGN_OR_RETURN(unpacked, Gunzip(path, file, header));
  }
  uint64_t wanted = 0;
  IdxArray array;
  AMPC_ASSIGN_OR_RETURN(array.dims, ParseHeader(path, IsGzip(file) ? unpacked : file, rank, &wanted));
  if (IsGzip(file)) {
    AMPC_ASSIGN_OR_RETURN(unpacked, Gunzip(path, file, header + wanted + 1));
  }
  const absl::string_view data = (IsGzip(file) ? absl::string_view(unpacked) : file).substr(header);
  if (data.size() != wanted) {
    const bool more = IsGzip(file) && data.size() > wanted;
    return Bad(path, absl::StrCat(more ? "more than " : "", more ? wanted : data.size(), " bytes of data"),
               absl::StrCat(wanted, ", which its header promises"));
  }
  array.bytes = std::string(data);
  return array;
}

}  // namespace ampc
