// Paddle's parameter files: streams of one tensor each, little-endian, without magic number, names or alignment.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/type.h"

namespace ampc::paddle {

struct TensorStream {
  std::string lod;   // level count and levels as stored; "" for no levels
  std::string desc;  // TensorDesc as stored
  DType dtype = DType::kInvalid;
  Dims dims;
  uint64_t data = 0;   // offset of the raw elements
  uint64_t bytes = 0;  // their size
  uint64_t end() const { return data + bytes; }
};

// Reads the header of the stream at `offset`; all sizes are checked against `file`. `where` names file and tensor in errors.
absl::StatusOr<TensorStream> ScanTensor(absl::Span<const char> file, uint64_t offset, absl::string_view where);

// The header of a stream; `lod` and `desc` as in TensorStream.
std::string TensorHeader(absl::string_view lod, absl::string_view desc);
// TensorDesc bytes of a static type.
std::string TensorDescBytes(DType dtype, absl::Span<const int64_t> dims);

}  // namespace ampc::paddle
