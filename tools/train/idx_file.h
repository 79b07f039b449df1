// IDX files: arrays of bytes with their dimensions, as MNIST and its successors are given (yann.lecun.com/exdb/mnist), plain or gzipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

struct IdxArray {
  std::vector<int64_t> dims;
  std::string bytes;  // as many as the dims say
};

// The array of bytes with `rank` dimensions in `path`. BadInput, with the file's name: absent, damaged or cut short, another magic
// number, more bytes than the dims say.
absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int rank);

// The same from the bytes of a whole file; `path` begins error messages. Of a gzipped one no more is unpacked than its header promises.
absl::StatusOr<IdxArray> ParseIdx(absl::string_view file, const std::string& path, int rank);

}  // namespace ampc
